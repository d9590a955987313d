//! Writes, put together by partition.

use super::session::Statement;
use mojoscan_pipeline::StoreError;
use scylla::serialize::SerializationError;
use scylla::serialize::row::{RowSerializationContext, SerializeRow};
use scylla::serialize::writers::RowWriter;
use scylla::statement::batch::{Batch as CqlBatch, BatchType};
use std::collections::HashMap;

/// Bytes of values in a batch: a batch of one partition stays below 64 KB with its statements.
const BATCH_BYTES_MAX: usize = 56 << 10;
/// What a statement adds to its values.
const STATEMENT_BYTES: usize = 32;

/// Writes to be done in any order, put together by partition.
#[derive(Debug, Default)]
pub struct Writes {
    batches: Vec<Batch>,
    /// The batch that is open for each partition of each table.
    open: HashMap<(u64, i64), usize>,
}

/// Writes to one partition.
#[derive(Debug, Default)]
pub(super) struct Batch {
    statements: Vec<Statement>,
    rows: Vec<Values>,
    bytes: usize,
}

impl Writes {
    /// Adds a write.
    ///
    /// # Errors
    /// [`StoreError::Broken`] if the values do not fit the statement.
    pub fn push(&mut self, statement: &Statement, values: impl SerializeRow) -> Result<(), StoreError> {
        let row = Values::new(statement, &values)?;
        let token = statement.token(&row)?;
        let bytes = row.bytes.len() + STATEMENT_BYTES;
        let open = self.open.entry((statement.table(), token)).or_insert(usize::MAX);
        let batch = match self.batches.get_mut(*open) {
            Some(batch) if batch.bytes + bytes <= BATCH_BYTES_MAX => batch,
            _ => {
                *open = self.batches.len();
                self.batches.push(Batch::default());
                &mut self.batches[*open]
            }
        };
        batch.statements.push(statement.clone());
        batch.rows.push(row);
        batch.bytes += bytes;
        Ok(())
    }

    /// Whether there is nothing to do.
    pub const fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    pub(super) fn into_batches(self) -> Vec<Batch> {
        self.batches
    }
}

impl Batch {
    /// The batch as the driver sends it, and its values.
    pub(super) fn with_timestamp(self, timestamp: i64) -> (CqlBatch, Vec<Values>) {
        let statements = self.statements.into_iter().map(|statement| statement.into_prepared().into());
        let mut batch = CqlBatch::new_with_statements(BatchType::Unlogged, statements.collect());
        batch.set_is_idempotent(true);
        batch.set_timestamp(Some(timestamp));
        (batch, self.rows)
    }
}

/// The values of a statement as they go over the wire: a length before each; -1 for null, -2 for a value left alone.
#[derive(Debug)]
pub(super) struct Values {
    bytes: Vec<u8>,
}

impl Values {
    fn new(statement: &Statement, values: &impl SerializeRow) -> Result<Self, StoreError> {
        let mut bytes = Vec::with_capacity(256);
        let columns = statement.columns();
        let context = RowSerializationContext::from_specs(columns.as_slice());
        values
            .serialize(&context, &mut RowWriter::new(&mut bytes))
            .map_err(|error| StoreError::Broken(format!("cannot encode a row: {error}")))?;
        Ok(Self { bytes })
    }
}

impl SerializeRow for Values {
    fn serialize(
        &self,
        _context: &RowSerializationContext<'_>,
        writer: &mut RowWriter<'_>,
    ) -> Result<(), SerializationError> {
        let mut rest = self.bytes.as_slice();
        while let Some((length, behind)) = rest.split_first_chunk::<4>() {
            let cell = writer.make_cell_writer();
            rest = match usize::try_from(i32::from_be_bytes(*length)) {
                Ok(length) => {
                    let (value, behind) = behind.split_at(length);
                    cell.set_value(value).map_err(SerializationError::new)?;
                    behind
                }
                Err(_) if *length == NULL => {
                    cell.set_null();
                    behind
                }
                Err(_) => {
                    cell.set_unset();
                    behind
                }
            };
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

const NULL: [u8; 4] = (-1_i32).to_be_bytes();
