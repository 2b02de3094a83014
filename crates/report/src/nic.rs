//! What a driver did, for every renderer.

use prony_softnic_host::{CheckOptions, DeviceEvent, Direction, Event, Finding};
use serde::Serialize;

/// A driver under one of the traces.
#[derive(Debug, Serialize)]
pub struct Checked {
    /// Name of the trace.
    pub trace: &'static str,
    /// What is tried, and what is expected.
    pub text: &'static str,
    /// The driver did what is expected.
    pub passed: bool,
    /// What was wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
}

/// What a driver did wrong, in a line.
pub fn finding(options: &CheckOptions, finding: Finding) -> String {
    match finding {
        Finding::Mistake(notice) => format!("{}: {}", options.addresses[notice.port], event(&notice.event)),
        Finding::Ended { status, output } => {
            let last = output.lines().map(str::trim).rfind(|line| !line.is_empty());
            let last = last.map(|line| format!(": {line}")).unwrap_or_default();
            format!("the driver ended: {status}{last}")
        }
        Finding::Frames(what) => what,
    }
}

/// A line of the trace; docs/formats/nic-trace.md.
#[derive(Debug, Default, Serialize)]
pub struct Line {
    time_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<String>,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    register: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    direction: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

impl Line {
    /// The line of an event. `addresses`: those of the ports.
    pub fn of(addresses: &[String], happened: &DeviceEvent) -> Line {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let text = |time_ns: u64, kind, text: String| Line {
            time_s: seconds(time_ns),
            kind,
            text: Some(text),
            ..Line::default()
        };
        match happened {
            DeviceEvent::Written { time_ns, port, write } => Line {
                time_s: seconds(*time_ns),
                port: Some(addresses[*port].clone()),
                kind: "write",
                register: Some(write.register()),
                offset: Some(write.offset),
                value: Some(write.value),
                ..Line::default()
            },
            DeviceEvent::Attached { time_ns, pids, dma_bytes } => {
                text(*time_ns, "attach", format!("process {pids:?}, {dma_bytes} bytes of DMA memory"))
            }
            DeviceEvent::Detached { time_ns, working_queues } => {
                text(*time_ns, "detach", format!("{working_queues} queues worked; device reset"))
            }
            DeviceEvent::Notice(notice) => {
                let line = Line {
                    time_s: seconds(notice.time_ns),
                    port: Some(addresses[notice.port].clone()),
                    kind: "event",
                    ..Line::default()
                };
                match notice.event {
                    Event::Descriptor { direction, queue, index, address, bytes, end } => Line {
                        kind: "descriptor",
                        direction: Some(if direction == Direction::Receive { "receive" } else { "transmit" }),
                        queue: Some(queue),
                        index: Some(index),
                        address: Some(address),
                        bytes: Some(bytes.into()),
                        end: Some(end),
                        ..line
                    },
                    other => Line { text: Some(event(&other)), ..line },
                }
            }
            DeviceEvent::Ready { .. } | DeviceEvent::Frame(_) => Line { kind: "event", ..Line::default() },
        }
    }

    /// The line for people.
    pub fn text(&self) -> String {
        let port = self.port.as_deref().unwrap_or("");
        let what = match (&self.register, self.value, &self.text) {
            (Some(register), Some(value), _) => format!("{register} = {value:#010x}"),
            (_, _, Some(text)) => text.clone(),
            _ => {
                let end = if self.end == Some(true) { "" } else { ", more follows" };
                let (direction, queue) = (self.direction.unwrap_or(""), self.queue.unwrap_or(0));
                let (index, bytes) = (self.index.unwrap_or(0), self.bytes.unwrap_or(0));
                format!("{direction}[{queue}] {index}: {bytes} bytes at {:#x}{end}", self.address.unwrap_or(0))
            }
        };
        format!("{:12.6}  {port:<13} {:<11}{what}", self.time_s, self.kind)
    }
}

/// Event of the device in words, for people.
pub fn event(event: &Event) -> String {
    let name = |direction: &Direction, queue: &u32| match direction {
        Direction::Receive => format!("receive queue {queue}"),
        Direction::Transmit => format!("transmit queue {queue}"),
    };
    match event {
        Event::Reset => "reset".to_owned(),
        Event::Link { up } => format!("link {}", if *up { "up" } else { "down" }),
        Event::QueueEnabled { direction, queue, base, descriptors } => {
            format!("{} enabled: {descriptors} descriptors at {base:#x}", name(direction, queue))
        }
        Event::QueueDisabled { direction, queue } => format!("{} disabled", name(direction, queue)),
        Event::BadRing { direction, queue, bytes } => {
            format!("{} enabled with a ring of {bytes} bytes, which is not a multiple of 128", name(direction, queue))
        }
        Event::BadTail { direction, queue, tail, descriptors } => {
            format!("{}: tail {tail} in a ring of {descriptors} descriptors", name(direction, queue))
        }
        Event::Fault { direction, queue, index, target, fault } => {
            let what = match target {
                prony_softnic_host::Target::Descriptor => "descriptor",
                prony_softnic_host::Target::Buffer => "buffer of descriptor",
            };
            format!("{}, {what} {index}: {fault}; the queue stands still", name(direction, queue))
        }
        Event::Malformed { queue, index, problem } => {
            let problem = match problem {
                prony_softnic_host::Malformed::ZeroLength => "a length of 0",
                prony_softnic_host::Malformed::TooLong => "a frame that is too long, or has no end",
                prony_softnic_host::Malformed::TooShort => "a frame that is too short",
                prony_softnic_host::Malformed::BadOffload => "a checksum to insert that does not fit the frame",
            };
            format!("transmit queue {queue}, descriptor {index}: {problem}")
        }
        Event::PrivateMemory { address, bytes } => format!(
            "refused {bytes} bytes at {address:#x} of the driver as DMA memory: they are private to its process, so the device \
             cannot reach them; huge pages, memory files and shared mappings can be given"
        ),
        Event::UnknownRegister { offset, value } => {
            format!("{value:#010x} written to {offset:#07x}, which is not in this model")
        }
        Event::Descriptor { direction, queue, index, address, bytes, end } => {
            let end = if *end { "" } else { ", more follows" };
            format!("{} descriptor {index}: {bytes} bytes at {address:#x}{end}", name(direction, queue))
        }
    }
}
