//! Copies inside this machine behave as cp -a does, by every way that contents can go and on every
//! filesystem that can be had here.
#![forbid(unsafe_code)]

mod again;
mod both;
mod by_name;
mod compare;
#[path = "../../../../../tests/deadline.rs"]
mod deadline;
mod places;
mod tree;

mod attributes;
mod destinations;
mod kinds;
mod options;
mod paused;
mod random;
mod told;
mod trouble;
mod users;

/// Each behaviour as a test of its own on each filesystem, so that what cannot run here is counted
/// one by one.
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
    crate::attributes::inherited_by_nodes = a_list_is_not_inherited_by_what_is_no_file,
    crate::attributes::inherited_group = a_group_of_the_destination_is_not_inherited,
    crate::destinations::into_and_as = into_and_as_go_by_what_is_there,
    crate::destinations::same_name_twice = two_sources_of_one_name_are_refused,
    crate::destinations::exactly_as = an_exact_destination_is_the_copy,
    crate::destinations::merging = trees_merge_kind_by_kind,
    crate::destinations::overwriting = existing_files_are_written_in_place,
    crate::destinations::a_fifo_in_the_way = a_fifo_in_the_way_is_no_destination,
    crate::destinations::update_and_keep = existing_files_are_kept_where_that_is_asked,
    crate::destinations::same_file = a_file_is_not_copied_onto_itself,
    crate::destinations::into_itself = a_folder_is_not_copied_into_itself,
    crate::options::rules = rules_leave_out_what_they_name,
    crate::options::dry_run = a_dry_run_writes_nothing_and_says_what_it_would,
    crate::options::verify = what_was_written_is_read_back,
    crate::options::verify_finds = an_altered_copy_is_found,
    crate::options::atomic = files_get_their_names_when_they_are_whole,
    crate::options::small_choices = any_number_of_threads_depth_and_chunk_gives_the_same,
    crate::trouble::hammered = a_source_that_changes_harms_nothing_else,
    crate::trouble::vanishing = a_source_that_vanishes_is_named,
    crate::trouble::cancelled = a_cancelled_copy_ends_soon_and_leaves_no_half_file,
    crate::random::trees = random_trees_merge_as_cp_merges_them,
    crate::by_name::ways = each_driver_does_what_its_name_says,
    crate::told::torn = what_is_torn_is_told_once_and_made_whole_later,
    crate::told::differing = what_differs_in_many_parts_is_told_once,
    crate::told::shared_unseen = a_shared_file_that_changes_behind_its_time_is_told_by_its_source,
    crate::again::unread = what_is_kept_is_not_read_before,
    crate::again::links = names_of_a_file_that_is_kept_as_newer_become_links_to_it,
}

mod as_a_user {
    use crate::places::On;

    /// Each by a user without privileges, who root becomes in a process of its own.
    macro_rules! as_a_user {
        ($($behaviour:path = $name:ident),+ $(,)?) => {
            $(
                #[test]
                fn $name() {
                    let test = concat!("as_a_user::", stringify!($name));
                    if crate::places::as_a_user(test) {
                        crate::places::run(test, On::Temporary, $behaviour);
                    }
                }
            )+
        };
    }

    as_a_user! {
        crate::kinds::ordinary_tree = an_ordinary_tree_arrives,
        crate::kinds::special_files = special_files_are_made_where_that_is_allowed,
        crate::attributes::modes = odd_modes_arrive,
        crate::attributes::inherited_list = a_list_of_the_destination_is_not_inherited,
        crate::attributes::inherited_unlisted = a_list_of_a_destination_that_cannot_be_listed_is_not_inherited,
        crate::destinations::merging = trees_merge_kind_by_kind,
        crate::attributes::extended = attributes_and_lists_arrive,
        crate::random::trees = random_trees_merge_as_cp_merges_them,
        crate::told::paths = what_fails_is_told_by_the_path_that_was_written,
        crate::users::foreign = what_belongs_to_others_is_copied_as_ones_own,
        crate::users::unreadable = what_cannot_be_read_is_named_and_the_rest_arrives,
        crate::users::unwritable = what_cannot_be_written_is_named_and_the_rest_arrives,
    }
}

/// Behaviours that depend on one filesystem, or on none.
macro_rules! once {
    ($($behaviour:path = $name:ident on $on:expr),+ $(,)?) => {
        $(
            #[test]
            fn $name() {
                crate::places::run(stringify!($name), $on, $behaviour);
            }
        )+
    };
}

once! {
    crate::destinations::exactly_the_root = the_root_folder_is_no_copy on TEMPORARY,
    crate::destinations::into_itself_by_a_bind_mount = a_folder_is_not_copied_into_itself_by_a_bind_mount on TEMPORARY,
    crate::kinds::deeper_than_a_path = a_tree_deeper_than_a_path_arrives on TEMPORARY,
    crate::kinds::ordinary_tree = an_ordinary_tree_arrives_where_folders_do_not_tell_kinds on UNTYPED,
    crate::options::rules = rules_leave_out_what_they_name_where_folders_do_not_tell_kinds on UNTYPED,
    crate::paused::large = a_large_file_rests_half_written_and_is_finished on TEMPORARY,
    crate::paused::small = many_small_files_rest_and_go_on on TEMPORARY,
    crate::paused::read_back = reading_back_rests_and_goes_on on TEMPORARY,
    crate::paused::cancelled = what_is_paused_ends_when_it_is_cancelled_and_leaves_no_half_file on TEMPORARY,
    crate::paused::changed = a_source_that_changes_during_a_pause_is_told on TEMPORARY,
    crate::paused::changed_unseen = a_verified_source_that_changes_behind_its_time_is_told on TEMPORARY,
    crate::paused::filled_unseen = a_verified_source_whose_hole_is_filled_behind_its_time_is_told on TEMPORARY,
    crate::trouble::files_without_a_size = files_of_the_kernel_arrive_with_their_contents on TEMPORARY,
    crate::trouble::full = a_full_destination_is_said_and_leaves_no_half_file on TMPFS,
    crate::trouble::other_filesystem = a_copy_to_another_filesystem_loses_what_that_lacks on TMPFS,
}

const TEMPORARY: places::On = places::On::Temporary;
#[test]
fn there_may_be_more_sources_than_descriptors() {
    const TEST: &str = "there_may_be_more_sources_than_descriptors";
    if places::with_descriptors(TEST, 256) {
        places::run(TEST, TEMPORARY, destinations::many_sources);
    }
}

const UNTYPED: places::On = places::On::Mount("untyped");
const TMPFS: places::On = places::On::Mount("tmpfs");
