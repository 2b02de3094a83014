//! Cases that this machine does not support.

/// Reason why something cannot be measured on this machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unsupported(pub String);

impl Unsupported {
    /// Unsupported case, with the reason.
    pub fn because(reason: impl Into<String>) -> Unsupported {
        Unsupported(reason.into())
    }
}

impl From<std::io::Error> for Unsupported {
    fn from(error: std::io::Error) -> Unsupported {
        Unsupported(error.to_string())
    }
}

impl From<crate::AreaError> for Unsupported {
    fn from(error: crate::AreaError) -> Unsupported {
        Unsupported(error.to_string())
    }
}

#[cfg(target_arch = "x86_64")]
impl From<crate::code::CodeError> for Unsupported {
    fn from(error: crate::code::CodeError) -> Unsupported {
        Unsupported(error.to_string())
    }
}
