//! What a device notices that a driver writer wants to know.

use crate::dma::DmaFault;

/// Directions of a queue, as the host sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the wire to the driver.
    Receive,
    /// From the driver to the wire.
    Transmit,
}

/// Targets of an access to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A descriptor in its ring.
    Descriptor,
    /// The buffer that a descriptor names.
    Buffer,
}

/// Transmitted frames that no wire takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// A descriptor with a length of 0.
    ZeroLength,
    /// A frame longer than the device sends, or one that never ends.
    TooLong,
    /// A frame shorter than an Ethernet header, where the device does not pad.
    TooShort,
    /// A checksum is to be inserted into headers that are not all in the frame, or of a protocol that there is not.
    BadOffload,
}

/// An event of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The driver reset the device.
    Reset,
    /// The link came up or went down.
    Link {
        /// True if it is up now.
        up: bool,
    },
    /// A queue began to work.
    QueueEnabled {
        /// Direction of the queue: receive or transmit.
        direction: Direction,
        /// Number of the queue, from 0.
        queue: u32,
        /// Bus address of the ring.
        base: u64,
        /// Number of descriptors in the ring.
        descriptors: u32,
    },
    /// The driver stopped a queue.
    QueueDisabled {
        /// Direction of the queue: receive or transmit.
        direction: Direction,
        /// Number of the queue, from 0.
        queue: u32,
    },
    /// A queue was enabled with a ring that cannot work: no descriptors, or a length that is not a multiple of 128 bytes.
    BadRing {
        /// Direction of the queue: receive or transmit.
        direction: Direction,
        /// Number of the queue, from 0.
        queue: u32,
        /// Length of the ring in bytes.
        bytes: u32,
    },
    /// A tail that lies outside of the ring; the device ignores it.
    BadTail {
        /// Direction of the queue: receive or transmit.
        direction: Direction,
        /// Number of the queue, from 0.
        queue: u32,
        /// The value that was written.
        tail: u32,
        /// Number of descriptors in the ring.
        descriptors: u32,
    },
    /// An access outside of the driver's DMA memory. The queue stands still until it is enabled again.
    Fault {
        /// Direction of the queue: receive or transmit.
        direction: Direction,
        /// Number of the queue, from 0.
        queue: u32,
        /// Index of the descriptor in its ring.
        index: u32,
        /// Target of the access: a descriptor or a buffer.
        target: Target,
        /// Access that failed: bus address and length in bytes.
        fault: DmaFault,
    },
    /// A frame that was not sent; the queue goes on behind it.
    Malformed {
        /// Number of the queue, from 0.
        queue: u32,
        /// Index of the descriptor in its ring.
        index: u32,
        /// Reason why the frame was not sent.
        problem: Malformed,
    },
    /// Memory that the driver wanted the device to reach, and that is private to its process; it was refused.
    PrivateMemory {
        /// Address of the memory in the process.
        address: u64,
        /// Length in bytes.
        bytes: u64,
    },
    /// A write to an offset at which this model has no register.
    UnknownRegister {
        /// Offset of the register in the BAR, in bytes.
        offset: u32,
        /// The value that was written.
        value: u32,
    },
    /// With tracing on: a descriptor was used.
    Descriptor {
        /// Direction of the queue: receive or transmit.
        direction: Direction,
        /// Number of the queue, from 0.
        queue: u32,
        /// Index of the descriptor in its ring.
        index: u32,
        /// Bus address of the buffer.
        address: u64,
        /// Number of bytes in the buffer.
        bytes: u32,
        /// True for the last one of a frame.
        end: bool,
    },
}
