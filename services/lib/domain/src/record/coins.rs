//! Records of the coins topic.

use super::{PuzzleName, Tag, Transaction};
use crate::{Asset, Coin, CoinId, PuzzleHash};

/// What happened to a coin. Within a block every creation stands before every spend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CoinEvent {
    /// It was created.
    Created(CoinCreated),
    /// It was spent.
    Spent(CoinSpent),
}

impl CoinEvent {
    /// The owner whose partition the event belongs to.
    pub const fn owner(&self) -> PuzzleHash {
        match self {
            Self::Created(created) => created.owner,
            Self::Spent(spent) => spent.owner,
        }
    }
}

/// A coin was created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoinCreated {
    /// Its id.
    pub id: CoinId,
    /// The coin.
    pub coin: Coin,
    /// Who owns it, fixed here for its whole life.
    pub owner: PuzzleHash,
    /// What it is, fixed here for its whole life.
    pub asset: Asset,
    /// The memos it was created with.
    pub memos: Memos,
    /// Who paid it; none for a farming reward.
    pub sender: Option<Sender>,
    /// What created it; none for a farming reward.
    pub transaction: Option<Transaction>,
    /// A settlement coin that is spent in the block that creates it: on its way from a payer to who is paid, in no list.
    pub passing: bool,
}

/// Who paid a coin: the owner of its parent, or, where the parent is a passing settlement coin, of the parent's parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    /// The coin that paid.
    pub coin: CoinId,
    /// Its owner.
    pub owner: PuzzleHash,
    /// Not empty where the paying coin's spend does not prove how that coin was created: if `owner` does not hold it,
    /// one of these does, and is the sender.
    pub otherwise: Vec<PuzzleHash>,
    /// `owner` is only a guess, and should be looked up before it is shown: the paying coin is a DID, or a CAT that is
    /// revocable or was spent without a lineage proof. Without doubt, only a forger could make `otherwise` true.
    pub doubtful: bool,
}

/// A coin was spent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoinSpent {
    /// Its id.
    pub id: CoinId,
    /// The coin.
    pub coin: Coin,
    /// Who owns it, or may own it.
    pub owner: PuzzleHash,
    /// The spend does not prove how the coin was created, so a copy goes to each owner it may have been created under.
    /// It applies only to the owner who holds the coin, with the asset the coin was created with.
    pub conditional: bool,
    /// Which of the copies this is, from 0: the likeliest first.
    pub copy: u8,
    /// What the coin is, if `owner` holds it.
    pub asset: Asset,
    /// The puzzle that was revealed.
    pub puzzle: PuzzleName,
    /// What spent it.
    pub transaction: Transaction,
    /// What the spend did, ascending.
    pub tags: Vec<Tag>,
    /// A settlement coin that was created in this very block.
    pub passing: bool,
    /// What the spend made. Behind an output that is passing stand the outputs paid through it.
    pub outputs: Vec<Output>,
    /// A spend with very many outputs is several records: which of them this is, from 0. The first spends the coin,
    /// the others only add outputs.
    pub part: u32,
}

/// A coin that a spend made, or paid through a settlement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The id of the new coin.
    pub id: CoinId,
    /// Its full puzzle hash.
    pub puzzle_hash: PuzzleHash,
    /// Who owns it.
    pub owner: PuzzleHash,
    /// Its amount in mojos.
    pub amount: u64,
    /// What it is.
    pub asset: Asset,
    /// Its memos.
    pub memos: Memos,
    /// A settlement coin that is spent in this block: what it paid out stands in its place.
    pub passing: bool,
    /// For an output paid through a settlement: the settlement coin whose spend made it.
    pub via: Option<CoinId>,
}

/// The memos of a coin: the atoms of the memo list in order, nested lists flattened depth first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memos {
    /// The memos.
    pub items: Vec<Vec<u8>>,
    /// There were more than are kept; cut only between whole memos.
    pub truncated: bool,
}

impl Memos {
    /// The first memo that is text for people: valid UTF-8, not empty, without control characters.
    pub fn text(&self) -> Option<&str> {
        self.items.iter().find_map(|memo| {
            let text = std::str::from_utf8(memo).ok()?;
            (!text.is_empty() && !text.chars().any(char::is_control)).then_some(text)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Memos;

    #[test]
    fn the_first_printable_memo_is_the_text() {
        let memos =
            |items: &[&[u8]]| Memos { items: items.iter().map(|m| m.to_vec()).collect(), truncated: false };
        assert_eq!(memos(&[&[0xff; 32], b"", b"a\nb", b"caf\xc3\xa9", b"later"]).text(), Some("café"));
        assert_eq!(memos(&[&[0xff; 32], b"\x7f", "\u{85}".as_bytes()]).text(), None);
        assert_eq!(memos(&[]).text(), None);
    }
}
