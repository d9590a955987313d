//! The one vocabulary of failures between services, mapped once to gRPC and once to HTTP.

use std::error::Error;
use tonic::Status;

/// Why a call failed, as far as the caller needs to know. The inner text goes to the log, this to the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// The request cannot be answered as it is.
    InvalidArgument,
    /// What was asked for does not exist.
    NotFound,
    /// What was asked for lies beyond what there is, as a height not reached yet.
    OutOfRange,
    /// It may go better in a moment.
    Unavailable,
    /// A fault of ours.
    Internal,
}

impl Code {
    /// As a gRPC status.
    pub fn status(self, message: impl Into<String>) -> Status {
        match self {
            Self::InvalidArgument => Status::invalid_argument(message),
            Self::NotFound => Status::not_found(message),
            Self::OutOfRange => Status::out_of_range(message),
            Self::Unavailable => Status::unavailable(message),
            Self::Internal => Status::internal(message),
        }
    }

    /// From a gRPC status. A time-out or a broken connection is unavailability; what only a broken service says is our
    /// fault.
    pub fn from_status(status: &Status) -> Self {
        // what a service says comes without: this was made here, of what befell the connection
        if status.source().is_some() {
            return Self::Unavailable;
        }
        match status.code() {
            tonic::Code::InvalidArgument => Self::InvalidArgument,
            tonic::Code::NotFound => Self::NotFound,
            tonic::Code::OutOfRange => Self::OutOfRange,
            tonic::Code::Unavailable
            | tonic::Code::DeadlineExceeded
            | tonic::Code::Cancelled
            | tonic::Code::ResourceExhausted
            | tonic::Code::Aborted
            | tonic::Code::Unknown => Self::Unavailable,
            _ => Self::Internal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn a_broken_connection_is_no_fault_of_ours() {
        let broken = Status::from_error(Box::new(io::Error::other("broken pipe")));
        assert_eq!(Code::from_status(&broken), Code::Unavailable);
        assert_eq!(Code::from_status(&Status::internal("a bug")), Code::Internal);
        assert_eq!(Code::from_status(&Status::cancelled("the service ends")), Code::Unavailable);
    }
}
