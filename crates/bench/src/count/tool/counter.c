/* A tool for Valgrind that counts the instructions of each function.
 *
 * Callgrind counts as well, and follows calls and returns on top, which takes ten times as long. Here each block of code adds the
 * number of its instructions to the counter of its function, in line. The tool answers three requests of Callgrind (callgrind.h:
 * toggle collecting, zero, dump) and writes its format, without calls and lines; a function is that in which a block begins.
 * With --inclusive it follows functions from where they are entered to where they return, and writes what they called as one call.
 *
 * C, because a tool is linked with Valgrind's core, whose interface is C with variable arguments. The core comes from the package of
 * the Valgrind that runs it: its headers and libraries are of one version. */

#include "pub_tool_basics.h"
#include "pub_tool_aspacemgr.h"
#include "pub_tool_clreq.h"
#include "pub_tool_debuginfo.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_options.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_tooliface.h"
#include "pub_tool_vki.h"

/* Heads of an object file, for a word of either size (Tool Interface Standard, ELF 1.2). libc's headers may lack those of 32 bits. */
typedef struct {
    UChar ident[16];
    UShort type, machine;
    UInt version;
    UWord entry, program_headers, section_headers;
    UInt flags;
    UShort size, program_header_size, program_header_count;
} FileHeader;

typedef struct {
    UInt type;
#if VG_WORDSIZE == 8
    UInt flags;
#endif
    UWord offset, address, physical, file_bytes, memory_bytes;
#if VG_WORDSIZE == 4
    UInt flags;
#endif
    UWord alignment;
} ProgramHeader;

#define LOADED 1
#define UNWINDING 0x6474e550

#define REQUEST_DUMP (VG_USERREQ_TOOL_BASE('C', 'T') + 0)
#define REQUEST_ZERO (VG_USERREQ_TOOL_BASE('C', 'T') + 1)
#define REQUEST_TOGGLE (VG_USERREQ_TOOL_BASE('C', 'T') + 2)

/* Where the file of each process goes; %p is its number. */
static const HChar *file_name = NULL;

/*--- Functions and their counters ---*/

typedef struct Object {
    struct Object *next;
    HChar *name;
    UInt number;
    Bool counts; /* for the functions that call into it */
    Bool is_named; /* in the file that is being written */
} Object;

typedef struct Function {
    struct Function *next; /* in its bucket */
    Object *object;
    HChar *name;
    ULong *count;
    ULong inclusive; /* counted of it and all that it called, once it has returned */
    UInt *active;    /* its calls within each other that have not returned, by thread */
    UInt active_room;
    Bool is_added; /* what its calls under way have cost so far */
    UInt number;
    Bool is_named; /* in the file that is being written */
} Function;

#define BUCKETS 65536
#define CHUNK 4096

/* Counters lie together, so that the end of a frame reads little; none of them moves, as code that was made adds to it. */
typedef struct Chunk {
    struct Chunk *next;
    ULong counts[CHUNK];
    Function functions[CHUNK];
    UInt used;
} Chunk;

static Object *objects = NULL;
static UInt objects_made = 0;
static Function *buckets[BUCKETS];
static Chunk *first_chunk = NULL;
static Chunk *last_chunk = NULL;
static UInt functions_made = 0;

/* True for the program and its libraries, as for `is_counted` in count.rs, by which counts are left out; prony's library has no file. */
static Bool is_counted(const HChar *object)
{
    const HChar *slash = VG_(strrchr)(object, '/');
    const HChar *name = slash ? slash + 1 : object;
    return !VG_STREQ(object, "???") && !VG_STREQN(8, name, "ld-linux") && !VG_STREQN(10, name, "vgpreload_");
}

static Object *object_named(const HChar *name)
{
    Object *object;
    for (object = objects; object; object = object->next)
        if (VG_STREQ(object->name, name))
            return object;
    object = VG_(malloc)("prony.object", sizeof *object);
    object->name = VG_(strdup)("prony.object.name", name);
    object->number = ++objects_made;
    object->counts = is_counted(name);
    object->is_named = False;
    object->next = objects;
    objects = object;
    return object;
}

static Function *function_named(const HChar *object_name, const HChar *name)
{
    Object *object = object_named(object_name);
    UInt hash = object->number;
    const HChar *at;
    Function *function;
    for (at = name; *at; at++)
        hash = hash * 31 + (UChar)*at;
    hash %= BUCKETS;
    for (function = buckets[hash]; function; function = function->next)
        if (function->object == object && VG_STREQ(function->name, name))
            return function;
    if (!last_chunk || last_chunk->used == CHUNK) {
        Chunk *chunk = VG_(calloc)("prony.chunk", 1, sizeof *chunk);
        if (last_chunk)
            last_chunk->next = chunk;
        else
            first_chunk = chunk;
        last_chunk = chunk;
    }
    function = &last_chunk->functions[last_chunk->used];
    function->count = &last_chunk->counts[last_chunk->used];
    last_chunk->used++;
    function->object = object;
    function->name = VG_(strdup)("prony.function.name", name);
    function->number = ++functions_made;
    function->next = buckets[hash];
    buckets[hash] = function;
    return function;
}

/*--- Functions of stripped objects ---*/

static Bool is_readable(Addr from, SizeT bytes)
{
    return from + bytes >= from && VG_(am_is_valid_for_client)(from, bytes, VKI_PROT_READ);
}

/* Where the first page of the file lies of which `addr` is the code; 0 if it is not mapped. */
static Addr base_of(Addr addr)
{
    const NSegment *segment = VG_(am_find_nsegment)(addr);
    const NSegment *first = segment;
    while (first && first->kind == SkFileC && first->offset != 0) {
        const NSegment *below = first->start ? VG_(am_find_nsegment)(first->start - 1) : NULL;
        if (!below || below->kind != SkFileC || below->dev != segment->dev || below->ino != segment->ino)
            return 0;
        first = below;
    }
    return first && first->kind == SkFileC ? first->start : 0;
}

/* Start of the function that holds `addr`, from the table that unwinding searches (.eh_frame_hdr, Linux Standard Base 5.0, 10.6.2);
 * `addr` where there is none. The memory is a stranger's. */
static Addr unwound_start(Addr addr)
{
    const Addr base = base_of(addr);
    const FileHeader *file = (const FileHeader *)base;
    Addr lowest = ~(Addr)0, table = 0;
    SizeT bytes = 0;
    UInt at;
    if (!base || !is_readable(base, sizeof *file) || VG_(memcmp)(file->ident, "\177ELF", 4) != 0 ||
        file->program_header_size != sizeof(ProgramHeader) ||
        !is_readable(base + file->program_headers, file->program_header_count * sizeof(ProgramHeader)))
        return addr;
    for (at = 0; at < file->program_header_count; at++) {
        const ProgramHeader *header = (const ProgramHeader *)(base + file->program_headers) + at;
        if (header->type == LOADED && header->address < lowest)
            lowest = header->address;
        if (header->type == UNWINDING) {
            table = header->address;
            bytes = header->memory_bytes;
        }
    }
    if (!table || bytes < 12)
        return addr;
    table += base - VG_PGROUNDDN(lowest);
    {
        const UChar *head = (const UChar *)table;
        const Int *entries = (const Int *)(table + 12);
        UInt low = 0, high;
        /* Version 1; a count of 4 bytes; pairs of 4 bytes each, from the table on. All linkers write it so. */
        if (!is_readable(table, bytes) || head[0] != 1 || head[2] != 0x03 || head[3] != 0x3b)
            return addr;
        high = *(const UInt *)(table + 8);
        if (high > (bytes - 12) / 8)
            return addr;
        while (low < high) {
            UInt middle = low + (high - low) / 2;
            if (table + entries[2 * middle] <= addr)
                low = middle + 1;
            else
                high = middle;
        }
        return low ? table + entries[2 * (low - 1)] : addr;
    }
}

static Function *function_at(Addr addr)
{
    const DiEpoch epoch = VG_(current_DiEpoch)();
    const HChar *object = "???", *name;
    HChar address[24];
    DebugInfo *info;
    /* Stubs of the linker, which have other addresses in each build. */
    if (VG_(DebugInfo_sect_kind)(NULL, addr) == Vg_SectPLT) {
        const NSegment *segment = VG_(am_find_nsegment)(addr);
        const HChar *path = segment ? VG_(am_get_filename)(segment) : NULL;
        return function_named(path ? path : "???", "(linkage table)");
    }
    info = VG_(find_DebugInfo)(epoch, addr);
    if (!info)
        return function_named("???", "???");
    VG_(get_objname)(epoch, addr, &object);
    if (VG_(get_fnname)(epoch, addr, &name))
        return function_named(object, name);
    VG_(sprintf)(address, "%#016lx", (UWord)(unwound_start(addr) - VG_(DebugInfo_get_text_bias)(info)));
    return function_named(object, address);
}

/* True where a function begins. */
static Bool is_entry(Addr addr)
{
    const DiEpoch epoch = VG_(current_DiEpoch)();
    const HChar *name;
    if (VG_(DebugInfo_sect_kind)(NULL, addr) == Vg_SectPLT)
        return False;
    if (VG_(get_fnname)(epoch, addr, &name))
        return VG_(get_fnname_if_entry)(epoch, addr, &name);
    return unwound_start(addr) == addr && unwound_start(addr + 1) == addr;
}

/*--- What is collected, by thread and by handler of a signal ---*/

#define LEVELS 63

/* A function that was entered and has not returned. */
typedef struct {
    Function *function;
    Addr stack;  /* its stack pointer where it was entered */
    ULong begun; /* what its thread had collected by then */
} Call;

typedef struct {
    ULong collects;          /* bit 0: what runs now; bit N: what the Nth handler from here interrupted */
    UInt levels;             /* handlers that run */
    Addr interrupted[LEVELS]; /* stack pointers where they came */
    UInt calls_below[LEVELS]; /* calls that they interrupted */
    Call *calls;
    UInt calls_used, calls_room;
    ULong collected; /* while another thread runs */
} Thread;

static Thread *threads;
/* All ones while the running thread's instructions are collected, else 0. */
static ULong mask = ~0ULL;
/* The running thread, and what it has collected, where calls are followed. */
static ThreadId running = 0;
static ULong collected = 0;
static Bool is_inclusive = False;

static void show(ThreadId thread)
{
    mask = threads[thread].collects & 1 ? ~0ULL : 0;
    if (thread != running) {
        threads[running].collected = collected;
        collected = threads[thread].collected;
        running = thread;
    }
}

static ULong collected_by(ThreadId thread)
{
    return thread == running ? collected : threads[thread].collected;
}

/* Adds what the thread has collected since the call began. */
static void add_call(ThreadId thread, Call *call)
{
    const ULong now = collected_by(thread);
    call->function->inclusive += now - call->begun;
    call->begun = now;
}

/* The calls of a thread return until so many are left. */
static void leave_calls(ThreadId id, UInt left)
{
    Thread *thread = &threads[id];
    while (thread->calls_used > left) {
        Call *call = &thread->calls[--thread->calls_used];
        if (--call->function->active[id] == 0)
            add_call(id, call);
    }
}

/* Calls of the running handler, or of the thread where none runs, whose stack lies below this one have returned, or were jumped out of. */
static void leave_below(Addr stack)
{
    const Thread *thread = &threads[running];
    const UInt least = thread->levels > 0 ? thread->calls_below[thread->levels - 1] : 0;
    UInt left = thread->calls_used;
    while (left > least && thread->calls[left - 1].stack < stack)
        left--;
    leave_calls(running, left);
}

/* The running thread enters a function. One that jumps to another one returns with it, and a loop may lead to where a function begins. */
static VG_REGPARM(2) void enter(Function *function, Addr stack)
{
    Thread *thread = &threads[running];
    UInt at;
    leave_below(stack);
    for (at = thread->calls_used; at > 0 && thread->calls[at - 1].stack == stack; at--)
        if (thread->calls[at - 1].function == function)
            return;
    if (thread->calls_used == thread->calls_room) {
        thread->calls_room = thread->calls_room ? 2 * thread->calls_room : 64;
        thread->calls = VG_(realloc)("prony.calls", thread->calls, thread->calls_room * sizeof *thread->calls);
    }
    if (running >= function->active_room) {
        const UInt before = function->active_room;
        function->active_room = running + 1;
        function->active = VG_(realloc)("prony.active", function->active, function->active_room * sizeof(UInt));
        VG_(memset)(function->active + before, 0, (function->active_room - before) * sizeof(UInt));
    }
    function->active[running]++;
    thread->calls[thread->calls_used++] = (Call){ function, stack, collected };
}

/* A function has returned: its stack pointer is behind the address to which it did, where that lies on the stack. */
static VG_REGPARM(1) void leave(Addr stack)
{
#if defined(VGA_arm64)
    stack++;
#endif
    leave_below(stack);
}

static void begin_thread(ThreadId id)
{
    leave_calls(id, 0);
    threads[id].collects = 1;
    threads[id].levels = 0;
}

static void on_run(ThreadId thread, ULong blocks)
{
    show(thread);
}

static void on_exit(ThreadId thread)
{
    begin_thread(thread);
}

static void leave_handler(ThreadId id)
{
    Thread *thread = &threads[id];
    thread->levels--;
    thread->collects >>= 1;
    leave_calls(id, thread->calls_below[thread->levels]);
}

/* A handler that jumps out does not return. The stack is then above the place where it came. */
static void leave_handlers_jumped_out_of(ThreadId id)
{
    Thread *thread = &threads[id];
    const Addr stack = VG_(get_SP)(id);
    const Addr other = VG_(thread_get_altstack_min)(id);
    if (stack - other < VG_(thread_get_altstack_size)(id))
        return;
    while (thread->levels > 0 && stack > thread->interrupted[thread->levels - 1])
        leave_handler(id);
}

static void on_signal(ThreadId id, Int signal, Bool other_stack)
{
    Thread *thread = &threads[id];
    leave_handlers_jumped_out_of(id);
    if (thread->levels < LEVELS) {
        thread->calls_below[thread->levels] = thread->calls_used;
        thread->interrupted[thread->levels++] = VG_(get_SP)(id);
        thread->collects = thread->collects << 1 | 1;
    }
    show(id);
}

static void on_signal_handled(ThreadId id, Int signal)
{
    if (threads[id].levels > 0)
        leave_handler(id);
    show(id);
}

/*--- Code that is rewritten ---*/

/* The core's --smc-check: which translations look whether their code is still what was translated. 2 is all of them. */
extern UInt VG_(clo_smc_check);
#define CHECKED_ALL 2

/* What the core calls itself behind a system call; that of the interface for tools is for requests alone. */
extern void VG_(discard_translations)(Addr from, ULong bytes, const HChar *who);

/* Code of files that is writable and executable now: it lies between these two. */
static Addr rewritten_from = ~0UL, rewritten_to = 0;
static UInt checked_before;

/* The core trusts code of files to stay as it is. A server that makes it writable and leaves it executable rewrites it, as those do
 * that patch a function of libc: while there is such code, all translations look. The loader makes code writable for a moment, to
 * relocate it, and prony's library to set a breakpoint. */
static void on_protect(Addr from, SizeT bytes, Bool reads, Bool writes, Bool executes)
{
    const NSegment *segment = VG_(am_find_nsegment)(from);
    if (!segment || segment->kind != SkFileC)
        return;
    if (writes && executes) {
        if (!rewritten_to)
            checked_before = VG_(clo_smc_check);
        VG_(clo_smc_check) = CHECKED_ALL;
        if (from < rewritten_from)
            rewritten_from = from;
        if (from + bytes > rewritten_to)
            rewritten_to = from + bytes;
        VG_(discard_translations)(from, bytes, "prony: made writable");
    } else if (from <= rewritten_from && rewritten_to && rewritten_to <= from + bytes) {
        VG_(clo_smc_check) = checked_before;
        rewritten_from = ~0UL, rewritten_to = 0;
    }
}

/*--- The file ---*/

static UInt parts = 0;
static HChar buffer[65536];
static UInt filled = 0;

/* Opens the file, which is done for each write: a descriptor that stays could be one that the program expects for itself. */
static Int opened(Int flags)
{
    HChar *name = VG_(expand_file_name)("--callgrind-out-file", file_name);
    Int file = VG_(fd_open)(name, VKI_O_CREAT | VKI_O_WRONLY | flags, VKI_S_IRUSR | VKI_S_IWUSR);
    if (file < 0) {
        VG_(umsg)("cannot open %s for counts\n", name);
        VG_(exit)(1);
    }
    VG_(free)(name);
    return file;
}

static void flush(void)
{
    Int file = opened(VKI_O_APPEND);
    UInt at = 0;
    while (at < filled) {
        Int written = VG_(write)(file, buffer + at, filled - at);
        if (written <= 0) {
            VG_(umsg)("cannot write counts to %s\n", file_name);
            VG_(exit)(1);
        }
        at += written;
    }
    VG_(close)(file);
    filled = 0;
}

static void put(const HChar *text)
{
    for (; *text; text++) {
        if (filled == sizeof buffer)
            flush();
        buffer[filled++] = *text;
    }
}

static void put_number(ULong number)
{
    HChar digits[24];
    VG_(sprintf)(digits, "%llu", number);
    put(digits);
}

/* A name with its number, the first time; later its number alone. */
static void put_name(const HChar *key, UInt number, const HChar *name, Bool *is_named)
{
    put(key);
    put("=(");
    put_number(number);
    put(")");
    if (!*is_named) {
        HChar one[2] = " ";
        put(one);
        for (; *name; name++) {
            /* A stranger's symbol may hold the end of a line. */
            one[0] = (UChar)*name < ' ' ? '?' : *name;
            put(one);
        }
        *is_named = True;
    }
    put("\n");
}

static void begin_file(void)
{
    Object *object;
    Chunk *chunk;
    VG_(close)(opened(VKI_O_TRUNC));
    for (object = objects; object; object = object->next)
        object->is_named = False;
    for (chunk = first_chunk; chunk; chunk = chunk->next) {
        UInt at;
        for (at = 0; at < chunk->used; at++)
            chunk->functions[at].is_named = False;
    }
    filled = 0;
    parts = 0;
}

/* Functions that have not returned have cost something already: of those within each other, the outermost. */
static void add_calls_under_way(void)
{
    ThreadId id;
    UInt at;
    for (id = 0; id < VG_N_THREADS; id++) {
        const Thread *thread = &threads[id];
        for (at = 0; at < thread->calls_used; at++) {
            if (!thread->calls[at].function->is_added)
                add_call(id, &thread->calls[at]);
            thread->calls[at].function->is_added = True;
        }
        for (at = 0; at < thread->calls_used; at++)
            thread->calls[at].function->is_added = False;
    }
}

static void zero(void)
{
    Chunk *chunk;
    UInt at;
    add_calls_under_way();
    for (chunk = first_chunk; chunk; chunk = chunk->next) {
        VG_(memset)(chunk->counts, 0, sizeof chunk->counts);
        for (at = 0; at < chunk->used; at++)
            chunk->functions[at].inclusive = 0;
    }
}

static void dump(void)
{
    const Object *object = NULL;
    Chunk *chunk;
    add_calls_under_way();
    if (parts == 0)
        put("# callgrind format\nversion: 1\ncreator: prony\npositions: line\nevents: Ir\n");
    put("\npart: ");
    put_number(++parts);
    put("\n");
    for (chunk = first_chunk; chunk; chunk = chunk->next) {
        UInt at;
        for (at = 0; at < chunk->used; at++) {
            Function *function = &chunk->functions[at];
            const ULong own = chunk->counts[at];
            if (own == 0 && function->inclusive == 0)
                continue;
            if (function->object != object) {
                put_name("ob", function->object->number, function->object->name, &function->object->is_named);
                object = function->object;
            }
            put_name("fn", function->number, function->name, &function->is_named);
            put("0 ");
            put_number(own);
            put("\n");
            if (function->inclusive > own) {
                put("calls=1 0\n0 ");
                put_number(function->inclusive - own);
                put("\n");
            }
            chunk->counts[at] = 0;
            function->inclusive = 0;
        }
    }
}

static void on_fork(ThreadId forked)
{
    ThreadId other;
    for (other = 0; other < VG_N_THREADS; other++)
        if (other != forked)
            begin_thread(other);
    begin_file();
}

/*--- The tool ---*/

static Bool on_request(ThreadId thread, UWord *arguments, UWord *answer)
{
    switch (arguments[0]) {
    case REQUEST_DUMP:
        dump();
        break;
    case REQUEST_ZERO:
        zero();
        break;
    case REQUEST_TOGGLE:
        leave_handlers_jumped_out_of(thread);
        threads[thread].collects ^= 1;
        show(thread);
        break;
    default:
        return False;
    }
    *answer = 0;
    return True;
}

#if defined(VG_BIGENDIAN)
#define ENDNESS Iend_BE
#else
#define ENDNESS Iend_LE
#endif

static IRTemp put_temporary(IRSB *block, IRExpr *value)
{
    IRTemp made = newIRTemp(block->tyenv, Ity_I64);
    addStmtToIRSB(block, IRStmt_WrTmp(made, value));
    return made;
}

/* Adds `instructions & mask` to a counter. */
static void put_addition(IRSB *block, ULong *counter, UInt instructions)
{
    IRExpr *place = mkIRExpr_HWord((HWord)counter);
    IRTemp all = put_temporary(block, IRExpr_Load(ENDNESS, Ity_I64, mkIRExpr_HWord((HWord)&mask)));
    IRTemp more = put_temporary(
        block, IRExpr_Binop(Iop_And64, IRExpr_RdTmp(all), IRExpr_Const(IRConst_U64(instructions))));
    IRTemp before = put_temporary(block, IRExpr_Load(ENDNESS, Ity_I64, place));
    IRTemp after = put_temporary(block, IRExpr_Binop(Iop_Add64, IRExpr_RdTmp(before), IRExpr_RdTmp(more)));
    addStmtToIRSB(block, IRStmt_Store(ENDNESS, place, IRExpr_RdTmp(after)));
}

/* The stack pointer as it is here, for a function of the tool. */
static IRExpr *put_stack_pointer(IRSB *block, const VexGuestLayout *layout, IRType word)
{
    IRTemp made = newIRTemp(block->tyenv, word);
    addStmtToIRSB(block, IRStmt_WrTmp(made, IRExpr_Get(layout->offset_SP, word)));
    return IRExpr_RdTmp(made);
}

/* The block begins where its function does. */
static void put_enter(IRSB *block, Function *function, const VexGuestLayout *layout, IRType word)
{
    IRExpr **arguments = mkIRExprVec_2(mkIRExpr_HWord((HWord)function), put_stack_pointer(block, layout, word));
    addStmtToIRSB(
        block, IRStmt_Dirty(unsafeIRDirty_0_N(2, "enter", VG_(fnptr_to_fnentry)(&enter), arguments)));
}

/* The block ends with a return. */
static void put_leave(IRSB *block, const VexGuestLayout *layout, IRType word)
{
    IRExpr **arguments = mkIRExprVec_1(put_stack_pointer(block, layout, word));
    addStmtToIRSB(
        block, IRStmt_Dirty(unsafeIRDirty_0_N(1, "leave", VG_(fnptr_to_fnentry)(&leave), arguments)));
}

/* Counts instructions for their function, and for those that called it. */
static void put_count(IRSB *block, Function *function, UInt instructions)
{
    put_addition(block, function->count, instructions);
    if (is_inclusive && function->object->counts)
        put_addition(block, &collected, instructions);
}

/* A block is left at each of its exits, and counts what it ran up to there. */
static IRSB *instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout, const VexGuestExtents *extents,
                        const VexArchInfo *arch, IRType guest_word, IRType host_word)
{
    IRSB *out = deepCopyIRSBExceptStmts(in);
    Function *function = NULL;
    UInt instructions = 0;
    Int at;
    for (at = 0; at < in->stmts_used; at++) {
        IRStmt *statement = in->stmts[at];
        if (!statement || statement->tag == Ist_NoOp)
            continue;
        if (statement->tag == Ist_IMark) {
            if (!function) {
                function = function_at(statement->Ist.IMark.addr);
                if (is_inclusive && is_entry(statement->Ist.IMark.addr))
                    put_enter(out, function, layout, guest_word);
            }
            instructions++;
        } else if (statement->tag == Ist_Exit && instructions > 0) {
            put_count(out, function, instructions);
            instructions = 0;
        }
        addStmtToIRSB(out, statement);
    }
    if (instructions > 0)
        put_count(out, function, instructions);
    if (is_inclusive && in->jumpkind == Ijk_Ret)
        put_leave(out, layout, guest_word);
    return out;
}

/* Those of Callgrind, which stands in where there is no compiler for a platform. All parts of a process are in one file. */
static Bool on_option(const HChar *option)
{
    Bool is_one_file;
    return VG_STR_CLO(option, "--callgrind-out-file", file_name) || VG_BOOL_CLO(option, "--combine-dumps", is_one_file) ||
           VG_BOOL_CLO(option, "--inclusive", is_inclusive);
}

static void print_usage(void)
{
    VG_(printf)("    --callgrind-out-file=FILE   the file of each process; %%p is its number\n"
                "    --inclusive=no|yes          count what functions call with them, too [no]\n");
}

static void print_debug_usage(void)
{
}

static void begin(void)
{
    ThreadId thread;
    if (!file_name)
        VG_(fmsg_bad_option)("--callgrind-out-file", "it is needed\n");
    threads = VG_(calloc)("prony.threads", VG_N_THREADS, sizeof *threads);
    for (thread = 0; thread < VG_N_THREADS; thread++)
        begin_thread(thread);
    VG_(atfork)(NULL, NULL, on_fork);
    begin_file();
}

static void end(Int exit_code)
{
    dump();
    flush();
}

static void prepare(void)
{
    VG_(details_name)("prony");
    VG_(details_version)(NULL);
    VG_(details_description)("counts the instructions of each function");
    VG_(details_copyright_author)("The authors of prony");
    VG_(details_bug_reports_to)("the authors of prony");
    VG_(basic_tool_funcs)(begin, instrument, end);
    VG_(needs_command_line_options)(on_option, print_usage, print_debug_usage);
    VG_(needs_client_requests)(on_request);
    VG_(track_start_client_code)(on_run);
    VG_(track_pre_thread_ll_exit)(on_exit);
    VG_(track_pre_deliver_signal)(on_signal);
    VG_(track_post_deliver_signal)(on_signal_handled);
    VG_(track_change_mem_mprotect)(on_protect);
    /* A block is code that lies together, and each turn of a loop one block, as for Callgrind. */
    VG_(clo_vex_control).guest_chase = False;
    VG_(clo_vex_control).iropt_unroll_thresh = 0;
}

VG_DETERMINE_INTERFACE_VERSION(prepare)
