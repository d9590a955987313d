//! Settings that belong together.

/// A setting's name, and whether it is given.
type Given = (&'static str, bool);

/// Checks that with each setting that is given, those it needs are given too.
pub(crate) fn together(needs: &[(Given, &[Given])]) -> Result<(), String> {
    for ((name, given), needed) in needs {
        if let Some((other, _)) = needed.iter().find(|(_, there)| *given && !there) {
            return Err(format!("{name} needs {other}, which is not given"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lacks_another_is_named() {
        let needs = |user, password| together(&[(("--user", user), &[("--password", password)])]);
        assert_eq!([needs(false, false), needs(false, true), needs(true, true)], [Ok(()), Ok(()), Ok(())]);
        assert_eq!(needs(true, false), Err("--user needs --password, which is not given".to_owned()));
    }
}
