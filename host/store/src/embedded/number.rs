//! The contract's numbers as SQLite stores them: signed.

use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

use super::super::contract::{Lease, Position, Revision};
use crate::clock::Timestamp;

/// A number in a row. The greatest that SQLite stores stands for everything beyond it, such as the end of time.
#[derive(Clone, Copy)]
pub(super) struct Number(pub(super) u64);

impl ToSql for Number {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(i64::try_from(self.0).unwrap_or(i64::MAX).into())
    }
}

impl FromSql for Number {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Ok(Self(match value.as_i64()? {
            i64::MAX => u64::MAX,
            number => u64::try_from(number).unwrap_or_default(),
        }))
    }
}

macro_rules! number {
    ($($kind:ident)+) => {$(
        impl From<$kind> for Number {
            fn from(number: $kind) -> Self {
                Self(number.0)
            }
        }

        impl From<Number> for $kind {
            fn from(number: Number) -> Self {
                Self(number.0)
            }
        }
    )+};
}

number!(Lease Position Revision Timestamp);
