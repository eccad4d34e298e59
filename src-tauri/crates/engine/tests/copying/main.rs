//! Copies inside this machine behave as cp -a does, by every way that contents can go and on every filesystem that can be had here.
#![forbid(unsafe_code)]

mod both;
mod compare;
mod places;
mod tree;

mod attributes;
mod kinds;

/// Each behaviour as a test of its own on each filesystem, so that what cannot run here is counted one by one.
macro_rules! on_each_filesystem {
    ($($behaviour:path = $name:ident),+ $(,)?) => {
        on_each_filesystem!(@ temporary, crate::places::On::Temporary; $($behaviour = $name),+);
        on_each_filesystem!(@ tmpfs, crate::places::On::Mount("tmpfs"); $($behaviour = $name),+);
        on_each_filesystem!(@ ext4, crate::places::On::Mount("ext4"); $($behaviour = $name),+);
        on_each_filesystem!(@ btrfs, crate::places::On::Mount("btrfs"); $($behaviour = $name),+);
        on_each_filesystem!(@ xfs, crate::places::On::Mount("xfs"); $($behaviour = $name),+);
        on_each_filesystem!(@ overlay, crate::places::On::Mount("overlay"); $($behaviour = $name),+);
    };
    (@ $place:ident, $on:expr; $($behaviour:path = $name:ident),+) => {
        mod $place {
            $(
                #[test]
                fn $name() {
                    crate::places::run(concat!(stringify!($place), "::", stringify!($name)), $on, $behaviour);
                }
            )+
        }
    };
}

on_each_filesystem! {
    crate::kinds::ordinary_tree = an_ordinary_tree_arrives,
    crate::kinds::odd_names = odd_names_arrive,
    crate::kinds::symbolic_links = symbolic_links_stay_links,
    crate::kinds::hard_links = hard_links_stay_together,
    crate::kinds::holes = holes_stay_holes,
    crate::kinds::special_files = special_files_are_made_and_not_read,
    crate::attributes::modes = odd_modes_arrive,
    crate::attributes::owners = owners_arrive,
    crate::attributes::extended = attributes_and_lists_arrive,
    crate::attributes::inherited_list = a_list_of_the_destination_is_not_inherited,
    crate::attributes::inherited_group = a_group_of_the_destination_is_not_inherited,
}
