//! From a block's events to the records of the coins topic: one copy for each possible owner, and very large spends in
//! parts.

use crate::events::{Events, SpentEvent};
use mojoscan_domain::record::{CoinEvent, CoinSpent, Output};

/// Outputs of one record take at most about this many bytes, so that records stay below 256 KiB.
const PART_BYTES_MAX: usize = 160 * 1024;
/// Bytes of an output besides its memos, at most.
const OUTPUT_BYTES: usize = 256;

impl Events {
    /// The records, in the order in which they are published: a record's place in this list is its index.
    pub fn into_coin_events(self) -> Vec<CoinEvent> {
        let mut records = Vec::with_capacity(self.created.len() + self.spent.len());
        records.extend(self.created.into_iter().map(CoinEvent::Created));
        for SpentEvent { first, others } in self.spent {
            let copies = (1_u8..).zip(others).map(|(copy, (owner, asset))| CoinSpent {
                owner,
                asset,
                copy,
                ..first.clone()
            });
            let copies: Vec<CoinSpent> = copies.collect();
            split(first, &mut records);
            for copy in copies {
                split(copy, &mut records);
            }
        }
        records
    }
}

/// Adds the record of a spend, in parts where it is very large.
fn split(mut spent: CoinSpent, records: &mut Vec<CoinEvent>) {
    if spent.outputs.iter().map(output_bytes).sum::<usize>() <= PART_BYTES_MAX {
        records.push(CoinEvent::Spent(spent));
        return;
    }
    let outputs = std::mem::take(&mut spent.outputs);
    let mut parts = vec![vec![]];
    let mut size = 0;
    for output in outputs {
        let bytes = output_bytes(&output);
        if size + bytes > PART_BYTES_MAX && size > 0 {
            parts.push(vec![]);
            size = 0;
        }
        size += bytes;
        if let Some(part) = parts.last_mut() {
            part.push(output);
        }
    }
    let parts = (0..).zip(parts).map(|(part, outputs)| CoinSpent { part, outputs, ..spent.clone() });
    records.extend(parts.map(CoinEvent::Spent));
}

fn output_bytes(output: &Output) -> usize {
    OUTPUT_BYTES + output.memos.items.iter().map(|memo| memo.len() + 4).sum::<usize>()
}
