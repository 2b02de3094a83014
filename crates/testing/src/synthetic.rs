//! Raw records that resemble what real servers make, from a seed: for size budgets and benchmarks.

use prony_demo::{HEAD_BYTES, Head, Op, PartKind, Record};

use crate::random::SplitMix64;

struct Random(SplitMix64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0.next_number()
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Mostly short, now and then much longer: how long computation takes between two calls.
    fn work_ns(&mut self, shortest: u64) -> u64 {
        let tail = if self.below(50) == 0 { self.below(8 * shortest) } else { 0 };
        shortest + (self.below(shortest / 3 + 1) + self.below(shortest / 3 + 1)) / 2 + tail
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

/// Conversation under construction, record by record.
struct Conversation {
    records: Vec<Record>,
    random: Random,
    now_ns: u64,
}

const REALTIME_NS: u64 = 1_795_000_000_000_000_000;
const MONOTONIC_NS: u64 = 86_400_000_000_000;

impl Conversation {
    fn new(seed: u64) -> Conversation {
        Conversation { records: Vec::new(), random: Random(SplitMix64(seed)), now_ns: 0 }
    }

    fn push(&mut self, op: Op, ret: i64, fd: i32, aux: u32, parts: &[(PartKind, &[u8])]) {
        let order = self.records.len() as u64;
        let head = Head { size: HEAD_BYTES as u32, op: op as u16, thread: 0, order, time: self.now_ns, ret, fd, aux };
        let record = parts.iter().fold(Record::new(head), |record, (kind, bytes)| record.with_part(*kind, bytes));
        self.records.push(record);
    }

    fn clock_gettime(&mut self) {
        self.push(Op::ClockGettime, (MONOTONIC_NS + self.now_ns) as i64, -1, 1, &[]);
    }

    fn gettimeofday(&mut self) {
        let now = (REALTIME_NS + self.now_ns) / 1000 * 1000;
        self.push(Op::Gettimeofday, now as i64, -1, 0, &[]);
    }

    fn work(&mut self, shortest_ns: u64) {
        self.now_ns += self.random.work_ns(shortest_ns);
    }

    fn work_until(&mut self, then_ns: u64) {
        self.now_ns = self.now_ns.max(then_ns + self.random.below(60_000));
    }

    fn drained(&mut self, fd: i32) {
        self.push(Op::Recvfrom, -11, fd, 1400, &[]);
    }

    fn datagram_in(&mut self, fd: i32, client: u16, bytes: usize) {
        let content = self.random.bytes(bytes);
        self.push(
            Op::Recvfrom,
            bytes as i64,
            fd,
            1400,
            &[(PartKind::Addr, &loopback(client)), (PartKind::In, &content)],
        );
    }

    fn datagram_out(&mut self, fd: i32, client: u16, content: &[u8]) {
        let bytes = content.len();
        self.push(
            Op::Sendto,
            bytes as i64,
            fd,
            bytes as u32,
            &[(PartKind::Addr, &loopback(client)), (PartKind::Out, content)],
        );
    }
}

fn loopback(client: u16) -> [u8; 16] {
    let mut address = [0; 16];
    address[0] = 2;
    address[2..4].copy_from_slice(&(40_000 + client).to_be_bytes());
    address[4..8].copy_from_slice(&[127, 0, 0, 1]);
    address
}

/// As Teeworlds 0.7.5 with 8 clients for 26 s: 1,300 ticks, about 240 reads of a clock in each,
/// 5,200 datagrams out and as many in, whose contents are packed already.
pub fn teeworlds() -> Vec<Record> {
    let mut talk = Conversation::new(7);
    for tick in 0..1300u64 {
        talk.work_until(tick * 20_000_000);
        for _ in 0..4 {
            talk.clock_gettime();
            talk.work(90);
        }
        for client in 0..8 {
            if talk.random.below(2) == 0 {
                let bytes = 30 + talk.random.below(25) as usize;
                talk.datagram_in(3, client, bytes);
                talk.work(1500);
                talk.clock_gettime();
                talk.work(800);
            }
        }
        talk.drained(3);
        for read in 0..230 {
            talk.work([45, 60, 45, 220, 45, 900][read % 6]);
            talk.clock_gettime();
        }
        // Snapshots go to every client each second tick.
        if tick % 2 == 0 {
            for client in 0..8 {
                talk.work(4000);
                talk.clock_gettime();
                let bytes = 60 + talk.random.below(100) as usize;
                let content = talk.random.bytes(bytes);
                talk.work(2500);
                talk.datagram_out(3, client, &content);
            }
        }
        let ready: [u8; 8] = [3, 0, 0, 0, 1, 0, 0, 0];
        let left = 20 - (talk.now_ns / 1_000_000) % 20;
        talk.work(3000);
        talk.push(Op::Select, 1, -1, left as u32, &[(PartKind::Ready, &ready)]);
    }
    talk.records
}

/// As OpenArena with 12 bots for 30 s: 40 frames a second that each end in a millisecond of
/// spinning on `gettimeofday`, `select` and `recvfrom`; about 2 million calls, few datagrams.
pub fn openarena() -> Vec<Record> {
    let mut talk = Conversation::new(12);
    for frame in 0..1200u64 {
        talk.work_until(frame * 25_000_000);
        for _ in 0..20 {
            talk.work(15_000);
            talk.gettimeofday();
        }
        if frame % 20 == 0 {
            talk.datagram_in(5, 0, 14);
            talk.work(30_000);
            let bytes = 700 + talk.random.below(300) as usize;
            let content: Vec<u8> = (0..bytes).map(|at| b"\\name\\bot\\score\\12"[at % 18]).collect();
            talk.datagram_out(5, 0, &content);
        }
        talk.push(Op::Select, 0, -1, 22, &[]);
        talk.work_until(frame * 25_000_000 + 23_500_000);
        while talk.now_ns < frame * 25_000_000 + 24_900_000 {
            talk.gettimeofday();
            talk.work(350);
            talk.push(Op::Select, 0, -1, 0, &[]);
            talk.work(400);
        }
    }
    talk.records
}

/// Two million reads of one microsecond clock in 30 s and nothing else.
pub fn spin_on_gettimeofday() -> Vec<Record> {
    let mut talk = Conversation::new(3);
    for _ in 0..2_000_000 {
        talk.work(300);
        talk.gettimeofday();
    }
    talk.records
}

/// Two million calls that read the nanosecond clock and find the socket empty, in turn.
pub fn spin_on_empty_socket() -> Vec<Record> {
    let mut talk = Conversation::new(4);
    for _ in 0..1_000_000 {
        talk.work(120);
        talk.clock_gettime();
        talk.work(250);
        talk.drained(3);
    }
    talk.records
}
