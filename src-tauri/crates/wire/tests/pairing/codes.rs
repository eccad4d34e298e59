//! Codes and standing secrets as text.
use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use ringway_wire::code::{
    CODE_NUMBER_MAX, GivenSecret, NUMBERS_DRAWN, PairingCode, STANDING_SECRET_MAX, STANDING_SECRET_MIN, SecretError,
    StandingSecret, WORDS,
};

fn parsed(text: &str) -> Result<String, SecretError> {
    PairingCode::parse(text).map(|code| code.expose().to_owned())
}

#[test]
fn the_ends_of_the_entropy_give_ordinary_codes() {
    assert_eq!(PairingCode::from_entropy([0; 4]).expose(), "0-abandon-abandon");
    assert_eq!(PairingCode::from_entropy([0xff; 4]).expose(), "511-zoo-zoo");
}

#[test]
fn codes_are_read_however_people_type_them() {
    for typed in [
        "42-river-castle",
        "42 river castle",
        "42_river_castle",
        "  42-River-CASTLE \n",
        "042--river  - castle",
        "42.river.castle",
        "42\u{2013}river\u{2014}castle",
        "42-rive-cast",
        "42\triver\u{a0}castl",
        "-42-river-castle-",
    ] {
        assert_eq!(parsed(typed).as_deref(), Ok("42-river-castle"), "{typed:?}");
    }
}

#[test]
fn codes_without_separators_are_read_if_their_words_can_be_told_apart() {
    for typed in [
        "42rivercastle",
        " 042RiverCastle\n",
        "42 rivercastle",
        "42-rivercastle",
        "42rivercastle.",
        "42river-castle",
        "42river castle",
        "\u{2013}42river\u{2014}castle",
    ] {
        assert_eq!(parsed(typed).as_deref(), Ok("42-river-castle"), "{typed:?}");
    }
    assert_eq!(parsed("7catzoo").as_deref(), Ok("7-cat-zoo"));
    assert_eq!(parsed("7absorbabsorb").as_deref(), Ok("7-absorb-absorb"));
    // "sea table" or "seat able"; no words; shortened ones; too many; too large a number.
    for typed in [
        "7seatable",
        "7seat",
        "42riverscastle",
        "42rivecast",
        "42rivercastlezoo",
        "1000rivercastle",
        "rivercastle",
        "42",
    ] {
        assert_eq!(parsed(typed), Err(SecretError::NotACode), "{typed:?}");
    }
    assert_eq!(parsed("7-sea-table").as_deref(), Ok("7-sea-table"));
}

#[test]
fn nearly_all_codes_are_read_without_separators() {
    let mut joined = 0;
    for seed in 0..4_000u32 {
        let code = PairingCode::from_entropy(seed.wrapping_mul(0x9e37_79b9).to_le_bytes());
        let typed = code.expose().replace('-', "");
        match parsed(&typed) {
            Ok(read) => {
                assert_eq!(read, code.expose());
                joined += 1;
            }
            Err(error) => assert_eq!(error, SecretError::NotACode, "{typed}"),
        }
    }
    assert!(joined > 3_990, "{joined}");
}

#[test]
fn long_secrets_that_only_begin_like_a_code_stay_standing_secrets() {
    for secret in [
        "42SuperSecretWords",
        "7Kx-hdQpLmzRtYbWsa",
        "2024absorbcastles",
        "1000abandonability",
        "12 correcthorsebattery",
    ] {
        assert!(matches!(GivenSecret::parse(secret.as_bytes()), Ok(GivenSecret::Standing(_))), "{secret}");
    }
    // Who writes a code so means the code.
    assert!(matches!(GivenSecret::parse(b"42abandonability"), Ok(GivenSecret::Code(_))));
}

#[test]
fn short_words_are_typed_in_full() {
    assert_eq!(parsed("7-cat-zoo").as_deref(), Ok("7-cat-zoo"));
    assert_eq!(parsed("7-cate-zoo").as_deref(), Ok("7-category-zoo"));
    assert_eq!(parsed("7-cat-zo"), Err(SecretError::UnknownWord { position: 2 }));
}

#[test]
fn invalid_codes_have_a_reason() {
    for (typed, error) in [
        ("", SecretError::NotACode),
        ("42", SecretError::NotACode),
        ("42-river", SecretError::NotACode),
        ("42-river-castle-zoo", SecretError::NotACode),
        ("river-castle-42", SecretError::NotACode),
        ("x-river-castle", SecretError::NotACode),
        ("4 2-river-castle", SecretError::NotACode),
        ("+42-river-castle", SecretError::NotACode),
        ("\u{664}\u{662}-river-castle", SecretError::NotACode),
        ("42-r\u{ef}ver-castle", SecretError::NotACode),
        ("1000-river-castle", SecretError::NumberTooLarge),
        ("99999999999999999999-river-castle", SecretError::NumberTooLarge),
        ("42-rivr-castle", SecretError::UnknownWord { position: 1 }),
        ("42-river-castel", SecretError::UnknownWord { position: 2 }),
        ("42-xylophones-castle", SecretError::UnknownWord { position: 1 }),
    ] {
        assert_eq!(parsed(typed), Err(error), "{typed:?}");
    }
    let endless = format!("42-river-castle{}", " ".repeat(10_000));
    assert_eq!(parsed(&endless), Err(SecretError::NotACode));
}

#[test]
fn errors_do_not_repeat_what_was_typed() {
    for typed in ["42-rivr-castle", "4242-river-castle", "42-river", "secretphrase"] {
        let error = GivenSecret::parse(typed.as_bytes()).err().expect("not a secret");
        let said = format!("{error} {error:?}");
        for part in ["rivr", "4242", "secretphrase"] {
            assert!(!said.contains(part), "{said}");
        }
    }
}

#[test]
fn a_standing_secret_is_long_enough_and_not_a_wrong_file() {
    let standing = |bytes: &[u8]| StandingSecret::new(bytes).map(|_| ());
    assert_eq!(standing(&[b'x'; STANDING_SECRET_MIN]), Ok(()));
    assert_eq!(standing(&[b'x'; STANDING_SECRET_MIN - 1]), Err(SecretError::TooShort { len: STANDING_SECRET_MIN - 1 }));
    assert_eq!(standing(&[0xff; STANDING_SECRET_MAX]), Ok(()));
    assert_eq!(standing(&[0xff; STANDING_SECRET_MAX + 1]), Err(SecretError::TooLong));
    assert_eq!(standing(b"fifteen bytes!!\n"), Err(SecretError::TooShort { len: 15 }));
    assert_eq!(standing(b"fifteen bytes!!\r\n"), Err(SecretError::TooShort { len: 15 }));
    assert_eq!(standing(b"fifteen bytes!!\n\n"), Ok(()), "one newline is the editor's, a second is the owner's");
}

#[test]
fn text_is_a_code_or_a_standing_secret_and_never_a_mistyped_code() {
    let given = |text: &[u8]| match GivenSecret::parse(text) {
        Ok(GivenSecret::Code(code)) => Ok(Some(code.expose().to_owned())),
        Ok(GivenSecret::Standing(_)) => Ok(None),
        Err(error) => Err(error),
    };
    assert_eq!(given(b"42 river castle\n"), Ok(Some("42-river-castle".into())));
    assert_eq!(given(b"correct horse battery staple\n"), Ok(None));
    assert_eq!(given(b"\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8\xf7\xf6\xf5\xf4\xf3\xf2\xf1\xf0"), Ok(None));
    assert_eq!(given(b"short\n"), Err(SecretError::TooShort { len: 5 }));
    assert_eq!(given(b""), Err(SecretError::TooShort { len: 0 }));
    assert_eq!(given(b"042-abandonn-abilities"), Err(SecretError::UnknownWord { position: 1 }));
    assert_eq!(given(b"2024 correct horses"), Err(SecretError::NumberTooLarge));
}

/// Each part is drawn independently of the others and uniformly. This counts over every value that
/// determines it.
#[test]
fn the_draw_is_uniform() {
    let part = |entropy: u32, index: usize| {
        let code = PairingCode::from_entropy(entropy.to_le_bytes());
        code.expose().split('-').nth(index).expect("three parts").to_owned()
    };
    for (index, step, range) in [(1, 1, WORDS), (2, WORDS, WORDS), (0, WORDS * WORDS, NUMBERS_DRAWN)] {
        let mut seen = HashMap::new();
        for value in 0..2 * range {
            *seen.entry(part((value % range) * step + (value / range) * (1 << 31), index)).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), range as usize);
        assert!(seen.values().all(|&count| count == 2));
    }
}

#[test]
fn random_looking_entropy_gives_different_codes() {
    let mut state = 1u32;
    let codes: HashSet<_> = (0..10_000)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            PairingCode::from_entropy(state.to_le_bytes()).expose().to_owned()
        })
        .collect();
    assert!(codes.len() > 9_990, "{}", codes.len());
}

proptest! {
    #[test]
    fn shown_codes_are_read_back(entropy in any::<[u8; 4]>(), upper in any::<bool>(), separator in "[-_. ]{1,3}") {
        let code = PairingCode::from_entropy(entropy);
        prop_assert!(code.number() <= CODE_NUMBER_MAX);
        let mut typed = code.expose().replace('-', &separator);
        if upper {
            typed.make_ascii_uppercase();
        }
        let read = PairingCode::parse(&typed);
        prop_assert_eq!(read.as_ref().map(PairingCode::expose), Ok(code.expose()));
        prop_assert_eq!(read.map(|read| read.number()), Ok(code.number()));
    }

    #[test]
    fn no_text_panics_and_what_is_accepted_is_canonical(text in "\\PC{0,40}|[0-9]{0,4}[-_ ][a-z]{0,9}[- ][a-z]{0,9}") {
        if let Ok(shown) = parsed(&text) {
            prop_assert_eq!(parsed(&shown), Ok(shown.clone()));
        }
    }
}
