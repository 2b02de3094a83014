//! `prony nic`: the device alone.

use prony_machine::{Interrupt, Tree};
use prony_softnic_host::{Binding, DeviceEvent, PortCounts, ServeOptions, serve};
use prony_text::{bytes, count, thousands};

use super::{addresses, failure, reserve};

use crate::cli::nic::ServeArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// Serves the device until a stop is requested, and reports what drivers do with it.
///
/// # Errors
/// What kept it from running.
pub fn run(args: &ServeArgs) -> Result<Exit, Failure> {
    let interrupt = Interrupt::catch().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    let addresses = addresses(args.ports);
    let options = ServeOptions {
        addresses: addresses.clone(),
        binding: args.binding.binding(),
        rate: args.rate,
        sizes: args.size.clone(),
        command: None,
        limit: args.limit,
        is_tracing: false,
        with_frames: false,
    };
    let tree = Tree::machine();
    let reserved = reserve(&tree, args.huge_pages)?;
    let counts = serve(&options, &interrupt.flag(), &mut |event| tell(&addresses, options.binding, &event));
    drop(reserved);
    output::print(&text(&addresses, &counts.map_err(failure)?))?;
    Ok(Exit::Good)
}

/// Says what happened, on standard error.
pub fn tell(addresses: &[String], binding: Binding, event: &DeviceEvent) {
    match event {
        DeviceEvent::Ready { thread } => {
            eprintln!("ports {} are ready; start a driver with", addresses.join(" "));
            let ports = addresses.join(" ");
            // Its calls of VFIO are handed over before it begins.
            let program = std::env::current_exe().map_or("prony".into(), |path| path.to_string_lossy().into_owned());
            let join = if binding == Binding::Vfio { format!("{program} nic join -- ") } else { String::new() };
            eprintln!("  nsenter --mount=/proc/{thread}/ns/mnt --wd=. {join}./forwarder {ports}");
        }
        DeviceEvent::Attached { pids, dma_bytes, .. } => {
            let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
            eprintln!("process {} uses the device, {} of DMA memory so far", pids.join(", "), bytes(*dma_bytes));
        }
        DeviceEvent::Detached { working_queues: 0, .. } => eprintln!("the driver ended; the device was reset"),
        DeviceEvent::Detached { working_queues, .. } => eprintln!(
            "the driver ended while {} worked; its memory was released and the device reset",
            count(u64::from(*working_queues), "queue")
        ),
        DeviceEvent::Notice(notice) => {
            eprintln!("{}: {}", addresses[notice.port], prony_report::nic::event(&notice.event))
        }
        DeviceEvent::Written { .. } | DeviceEvent::Frame(_) => {}
    }
}

/// Number of frames of each port, as text.
pub fn text(addresses: &[String], counts: &[PortCounts]) -> String {
    let line = |(address, counts): (&String, &PortCounts)| {
        let PortCounts { received, transmitted, missed } = *counts;
        let parts = [(received, "to the driver"), (transmitted, "from the driver"), (missed, "missed")];
        let parts = parts.map(|(number, what)| format!("{} {what}", thousands(number)));
        format!("{address}  {}\n", parts.join(", "))
    };
    addresses.iter().zip(counts).map(line).collect()
}
