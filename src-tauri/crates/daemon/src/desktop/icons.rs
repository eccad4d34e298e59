//! The tray's icons: their names in the icon theme, and the same pictures as pixmaps for desktops
//! where they are not installed.
use std::io::Cursor;
use std::sync::LazyLock;

use ksni::Icon;

use super::shown::State;

/// One state's pictures, for panels of usual and of doubled density.
macro_rules! pictures {
    ($name:literal) => {
        [
            include_bytes!(concat!("../../../../icons/tray/ringway-", $name, "-24.png")).as_slice(),
            include_bytes!(concat!("../../../../icons/tray/ringway-", $name, "-48.png")),
        ]
        .map(|png| pixmap(png).expect("a picture that is part of the program"))
        .into()
    };
}

static IDLE: LazyLock<Vec<Icon>> = LazyLock::new(|| pictures!("idle"));
static ACTIVE: LazyLock<Vec<Icon>> = LazyLock::new(|| pictures!("active"));
static NEEDS_YOU: LazyLock<Vec<Icon>> = LazyLock::new(|| pictures!("attention"));
static OFF: LazyLock<Vec<Icon>> = LazyLock::new(|| pictures!("off"));

/// The icon's name in the theme (hicolor, symbolic/apps).
pub(super) fn name(state: State) -> &'static str {
    match state {
        State::Idle => "ringway-idle-symbolic",
        State::Active => "ringway-active-symbolic",
        State::NeedsYou => "ringway-attention-symbolic",
        State::Off => "ringway-off-symbolic",
    }
}

/// The same as pictures, drawn when they are first asked for.
pub(super) fn pixmaps(state: State) -> Vec<Icon> {
    match state {
        State::Idle => &IDLE,
        State::Active => &ACTIVE,
        State::NeedsYou => &NEEDS_YOU,
        State::Off => &OFF,
    }
    .to_vec()
}

/// A PNG of eight bits a channel as ARGB32 in network byte order (StatusNotifierItem, "Icons").
fn pixmap(png: &[u8]) -> Option<Icon> {
    let mut reader = png::Decoder::new(Cursor::new(png)).read_info().ok()?;
    let mut data = vec![0; reader.output_buffer_size()?];
    let info = reader.next_frame(&mut data).ok()?;
    if (info.color_type, info.bit_depth) != (png::ColorType::Rgba, png::BitDepth::Eight) {
        return None;
    }
    data.chunks_exact_mut(4).for_each(|pixel| pixel.rotate_right(1));
    Some(Icon { width: info.width.try_into().ok()?, height: info.height.try_into().ok()?, data })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const STATES: [State; 4] = [State::Idle, State::Active, State::NeedsYou, State::Off];

    /// Where something is drawn, whatever its colour.
    fn shape(icon: &Icon) -> Vec<bool> {
        icon.data.chunks_exact(4).map(|argb| argb[0] > 127).collect()
    }

    #[test]
    fn each_state_has_its_own_shape_so_that_colour_is_not_needed() {
        for size in [0, 1] {
            let shapes: HashSet<_> = STATES.iter().map(|state| shape(&pixmaps(*state)[size])).collect();
            assert_eq!(shapes.len(), STATES.len());
            for state in STATES {
                let icon = &pixmaps(state)[size];
                assert_eq!(icon.width, [24, 48][size]);
                assert_eq!(icon.data.len(), (icon.width * icon.height * 4) as usize);
                // A tenth is drawn at least, and the corners are free.
                let drawn = shape(icon).iter().filter(|is_drawn| **is_drawn).count();
                assert!(drawn * 10 > shape(icon).len() && icon.data[0] == 0, "{state:?}");
            }
        }
    }

    #[test]
    fn the_drawings_that_are_installed_have_the_names_that_are_asked_for() {
        for state in STATES {
            let path = format!("{}/../../icons/tray/{}.svg", env!("CARGO_MANIFEST_DIR"), name(state));
            assert!(std::path::Path::new(&path).is_file(), "{path}");
        }
    }
}
