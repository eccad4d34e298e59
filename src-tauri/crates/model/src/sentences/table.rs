//! The table of sentences: every row once, for every place that shows it.
//!
//! What happened (`what`) is the same everywhere. The next step is the same everywhere (`next`), or
//! the row has it twice, for the `terminal` and for the `window`; if one of these is empty, nothing
//! is shown there. Rows are in the order of the window's catalogue.
use super::Row;

macro_rules! rows {
    ($($row:ident: $key:literal { $($field:ident: $text:literal,)+ })+) => {
        $(pub(super) const $row: Row = Row { key: $key, $($field: $text,)+ ..EMPTY };)+

        /// All rows, in the catalogue's order.
        pub const ROWS: &[Row] = &[$($row),+];
    };
}

const EMPTY: Row = Row { key: "", what: "", next: "", terminal: "", window: "" };

rows! {
    // Where a transfer stands.
    STAGE_CONNECTING: "stage.connecting" {
        what: "Connecting to {peer}…",
    }
    STAGE_STARTING: "stage.starting" {
        what: "Starting…",
    }
    STAGE_AWAITING_ANSWER: "stage.awaitingAnswer" {
        what: "Waiting for {peer} to accept…",
    }
    STAGE_QUEUED_THERE: "stage.queuedThere" {
        what: "Queued on {peer}, position {place}",
    }
    STAGE_QUEUED_HERE: "stage.queuedHere" {
        what: "Queued, position {place}",
    }
    STAGE_SENDING: "stage.sending" {
        what: "Sending to {peer}",
    }
    STAGE_RECEIVING: "stage.receiving" {
        what: "Receiving from {peer}",
    }
    STAGE_COPYING: "stage.copying" {
        what: "Copying to {peer}",
    }
    STAGE_STALLED: "stage.stalled" {
        what: "Stalled for {time}",
    }
    STAGE_FINISHING_THERE: "stage.finishingThere" {
        what: "Finishing on {peer}…",
    }
    STAGE_FINISHING_HERE: "stage.finishingHere" {
        what: "Finishing…",
    }
    STAGE_VERIFYING: "stage.verifying" {
        what: "Verifying…",
    }
    STAGE_RESUMING: "stage.resuming" {
        what: "Resuming…",
    }

    // Why a transfer does not continue, and until when it is waited for.
    WAIT_FULL_THERE: "wait.fullThere" {
        what: "Paused: the disk of {peer} is full{missing}. Resumes if there is space within {left}",
    }
    WAIT_FULL_HERE: "wait.fullHere" {
        what: "Paused: the disk is full{missing}. Free up space within {left} to resume",
    }
    WAIT_PAUSED: "wait.paused" {
        what: "Paused",
    }
    WAIT_PAUSED_HERE: "wait.pausedHere" {
        what: "Paused here. Resume within {left}",
    }
    WAIT_PAUSED_THERE: "wait.pausedThere" {
        what: "Paused by {peer} for at most another {left}",
    }
    WAIT_FOR_PEER: "wait.forPeer" {
        what: "Interrupted. Waiting for {peer} for another {left}",
    }
    WAIT_BROKEN: "wait.broken" {
        what: "Connection to {peer} lost",
    }
    WAIT_SILENT: "wait.silent" {
        what: "No answer from {peer}",
    }
    WAIT_UNREACHABLE: "wait.unreachable" {
        what: "{peer} cannot be reached",
    }
    WAIT_BUSY: "wait.busy" {
        what: "{peer} has too many transfers",
    }
    WAIT_TOO_MANY_OFFERS: "wait.tooManyOffers" {
        what: "{peer} takes no more offers for now",
    }
    WAIT_TRYING_NOW: "wait.tryingNow" {
        what: "{why}. Trying again…",
    }
    WAIT_TRYING_IN: "wait.tryingIn" {
        what: "{why}. Trying again in {time}, for another {left}",
    }

    // A device that failed to pair with this one.
    PAIRING_WRONG_CODE: "pairing.wrongCode" {
        what: "Wrong code from {from}.",
    }
    PAIRING_WRONG_CODE_LEFT: "pairing.wrongCodeLeft" {
        what: "Wrong code from {from}. {n, plural, one {# attempt} other {# attempts}} left.",
    }
    PAIRING_WRONG_CODE_LAST: "pairing.wrongCodeLast" {
        what: "Wrong code from {from}. No attempts left: this code is no longer valid.",
    }
    PAIRING_NO_CODE: "pairing.noCode" {
        what: "{from} tried to pair, but this device has no valid code.",
    }
    PAIRING_FAILED: "pairing.failed" {
        what: "Failed pairing attempt from {from}.",
    }

    // A paired device, and an offer.
    DEVICE_LOOKS_LIKE: "device.looksLike" {
        what: "This name looks like that of {name} ({id}).",
        terminal: "Compare the IDs, and rename one of the two: `ringway devices rename`.",
        window: "Compare the IDs, and rename one of the two.",
    }
    OFFER_LOOKS_LIKE: "offer.looksLike" {
        what: "The name {from} ({fromId}) looks like that of another device, {name} ({id}). Compare the IDs before you accept.",
    }
    OFFER_DOT_NAMES: "offer.dotNames" {
        what: "{n, plural, one {One name begins} other {# names begin}} with a dot: {names}. Such files can configure and start programs.",
    }
    OFFER_UPDATES: "offer.updates" {
        what: "Updates what this device sent before: {names}.",
    }
    OFFER_RENAMED: "offer.renamed" {
        what: "Arrives under a new name, because its own is taken here: {names}.",
    }
    OFFER_OVERWRITES: "offer.overwrites" {
        what: "As listed by the sender, “Replace” overwrites {n, plural, one {# item that was changed here or is from elsewhere} other {# items that were changed here or are from elsewhere}}.",
    }
    OFFER_OVERWRITES_AT_LEAST: "offer.overwritesAtLeast" {
        what: "As listed by the sender, “Replace” overwrites at least {n, plural, one {# item that was changed here or is from elsewhere} other {# items that were changed here or are from elsewhere}}.",
    }
    OFFER_OVERWRITES_ALL: "offer.overwritesAll" {
        what: "“Replace” overwrites all items that differ, including items that were changed here or are from elsewhere.",
    }
    OFFER_TOO_MUCH: "offer.tooMuch" {
        what: "Ringway accepts up to {size} automatically from that device, counting what earlier attempts brought.",
    }
    OFFER_NO_FOLDER: "offer.noFolder" {
        what: "Ringway cannot use {folder}, the folder for that device. It is missing, was replaced or is not writable.",
    }
    OFFER_NOT_WRITABLE: "offer.notWritable" {
        what: "This folder is not writable.",
        terminal: "",
        window: "Choose another one.",
    }
    OFFER_TOO_LARGE: "offer.tooLarge" {
        what: "{missing} more needed, unless part of it already exists.",
    }
    OFFER_TOO_MANY: "offer.tooMany" {
        what: "The disk can hold only {n, plural, one {# more item} other {# more items}}.",
    }
    OFFER_NAMES_TOO_LONG: "offer.namesTooLong" {
        what: "One name is too long: the disk allows {n, plural, one {# byte} other {# bytes}}.",
    }

    // What an offer would do to what is in its folder: parts of a line.
    COMPARISON_NEW: "comparison.new" {
        what: "{n, number} new",
    }
    COMPARISON_UNCHANGED: "comparison.unchanged" {
        what: "{n, number} unchanged",
    }
    COMPARISON_DIFFERING: "comparison.differing" {
        what: "{n, plural, one {# differs here} other {# differ here}}",
    }
    COMPARISON_EDITED: "comparison.edited" {
        what: "{differing} ({n, number} changed here or from elsewhere)",
    }
    COMPARISON_IN_THE_WAY: "comparison.inTheWay" {
        what: "{n, plural, one {# blocked by another item here} other {# blocked by other items here}}",
    }
    COMPARISON_UNREADABLE: "comparison.unreadable" {
        what: "{n, number} not readable here",
    }
    COMPARISON_AT_LEAST: "comparison.atLeast" {
        what: "at least {counts}",
    }
    COMPARISON_SO_FAR: "comparison.soFar" {
        what: "{counts} so far",
    }

    // Finding a device by its code.
    CODE_NOT_FOUND: "code.notFound" {
        what: "No device on this network shows a code that begins with {number}.",
        terminal: "Check the code, or name the device's address: ringway send FOLDER ADDRESS. `ringway recv` shows its address below its code.",
        window: "Check the code, or enter the device's address.",
    }
    CODE_AMBIGUOUS: "code.ambiguous" {
        what: "Several devices show a code that begins with {number}: {names}.",
        terminal: "Name the address of the right one: ringway send FOLDER ADDRESS. `ringway recv` shows its address below its code.",
        window: "Enter the address of the right one.",
    }

    // The end of a sentence about a disk.
    MISSING_BYTES: "missing.bytes" {
        what: ", {size} more needed",
    }
    MISSING_ITEMS: "missing.items" {
        what: ", {n, plural, one {# item} other {# items}} too many",
    }
    MISSING_BOTH: "missing.both" {
        what: ", {size} more needed and {n, plural, one {# item} other {# items}} too many",
    }

    // What limits a transfer, as in "limited by …".
    LIMIT_FINDING_HERE: "limit.finding.here" {
        what: "finding files here",
    }
    LIMIT_FINDING_THERE: "limit.finding.there" {
        what: "finding files on {peer}",
    }
    LIMIT_READING_HERE: "limit.reading.here" {
        what: "reading here",
    }
    LIMIT_READING_THERE: "limit.reading.there" {
        what: "reading on {peer}",
    }
    LIMIT_ENCRYPTING_HERE: "limit.encrypting.here" {
        what: "the processor here (encrypting)",
    }
    LIMIT_ENCRYPTING_THERE: "limit.encrypting.there" {
        what: "the processor on {peer} (encrypting)",
    }
    LIMIT_NETWORK: "limit.network" {
        what: "the network",
    }
    LIMIT_STALLED: "limit.stalled" {
        what: "stalls",
    }
    LIMIT_DECRYPTING_HERE: "limit.decrypting.here" {
        what: "the processor here (decrypting)",
    }
    LIMIT_DECRYPTING_THERE: "limit.decrypting.there" {
        what: "the processor on {peer} (decrypting)",
    }
    LIMIT_WRITING_HERE: "limit.writing.here" {
        what: "writing here",
    }
    LIMIT_WRITING_THERE: "limit.writing.there" {
        what: "writing on {peer}",
    }
    LIMIT_LIMIT_HERE: "limit.limit.here" {
        what: "the upload limit here",
    }
    LIMIT_LIMIT_THERE: "limit.limit.there" {
        what: "the upload limit on {peer}",
    }
    LIMIT_LIMIT_GET: "limit.limit.get" {
        what: "the rate limit",
    }

    // Why an entry was not transferred; its path is the subject.
    FAILURE_OS_HERE: "failure.os.here" {
        what: "could not be {operation} here: {why}",
    }
    FAILURE_OS_THERE: "failure.os.there" {
        what: "could not be {operation} on {peer}: {why}",
    }
    FAILURE_SPECIAL_FILE: "failure.specialFile" {
        what: "is a socket, pipe or device file, which Ringway does not send",
    }
    FAILURE_CHANGED_HERE: "failure.changed.here" {
        what: "changed here while it was being read and was skipped: send it again once it no longer changes",
    }
    FAILURE_CHANGED_THERE: "failure.changed.there" {
        what: "changed on {peer} while it was being read and was skipped: have it sent again once it no longer changes",
    }
    FAILURE_PATH_TOO_LONG: "failure.pathTooLong" {
        what: "has a path longer than 4,095 bytes, so neither it nor its contents can be transferred",
    }
    FAILURE_CONFLICT_HERE: "failure.conflict.here" {
        what: "conflicts here with an item of another type or in another spelling, which was left unchanged",
    }
    FAILURE_CONFLICT_THERE: "failure.conflict.there" {
        what: "conflicts on {peer} with an item of another type or in another spelling, which was left unchanged",
    }
    FAILURE_LINK_TARGET_MISSING: "failure.linkTargetMissing" {
        what: "is a hard link to a file that was not transferred",
    }
    FAILURE_KEPT_HERE: "failure.kept.here" {
        what: "already existed here and was left unchanged",
    }
    FAILURE_KEPT_THERE: "failure.kept.there" {
        what: "already existed on {peer} and was left unchanged",
    }
    FAILURE_DIFFERS_HERE: "failure.differs.here" {
        what: "failed verification here and was removed: have it sent again, and if that fails too, check this device's disk",
    }
    FAILURE_DIFFERS_THERE: "failure.differs.there" {
        what: "failed verification on {peer} and was removed: send it again, and if that fails too, check that device's disk",
    }
    FAILURE_GET_CHANGED: "failure.get.changed" {
        what: "changed on {peer} while it was being read and was skipped: get it again once it no longer changes",
    }
    FAILURE_GET_DIFFERS: "failure.get.differs" {
        what: "failed verification here and was removed: get it again, and if that fails too, check this device's disk",
    }
    FAILURE_SERVED_CHANGED: "failure.served.changed" {
        what: "changed here while it was being read and was skipped: {peer} can get it again once it no longer changes",
    }
    FAILURE_SERVED_DIFFERS: "failure.served.differs" {
        what: "failed verification on {peer} and was removed there: {peer} can get it again, and if that fails too, check that device's disk",
    }
    FAILURE_SAVED_HERE: "failure.saved.here" {
        what: "was changed here after it arrived and stays as it is now: have it sent again to get the sender's version too",
    }
    FAILURE_SAVED_THERE: "failure.saved.there" {
        what: "was changed on {peer} after it arrived and stays as it is there now: send it again if your version is needed there",
    }
    FAILURE_GET_SAVED: "failure.get.saved" {
        what: "was changed here after it arrived and stays as it is now: get it again to have the version from {peer} too",
    }
    FAILURE_SERVED_SAVED: "failure.served.saved" {
        what: "was changed on {peer} after it arrived and stays as it is there now: {peer} can get it again",
    }
    FAILURE_UNVERIFIED_HERE: "failure.unverified.here" {
        what: "failed verification here and was renamed, with (not verified) in its name: have it sent again, and if that fails too, check this device's disk",
    }
    FAILURE_UNVERIFIED_THERE: "failure.unverified.there" {
        what: "failed verification on {peer} and was renamed there, with (not verified) in its name: send it again, and if that fails too, check that device's disk",
    }
    FAILURE_GET_UNVERIFIED: "failure.get.unverified" {
        what: "failed verification here and was renamed, with (not verified) in its name: get it again, and if that fails too, check this device's disk",
    }
    FAILURE_SERVED_UNVERIFIED: "failure.served.unverified" {
        what: "failed verification on {peer} and was renamed there, with (not verified) in its name: {peer} can get it again, and if that fails too, check that device's disk",
    }
    FAILURE_OWN_FOLDER_HERE: "failure.ownFolder.here" {
        what: "is reserved for Ringway's own folders here, which receive no files",
    }
    FAILURE_OWN_FOLDER_THERE: "failure.ownFolder.there" {
        what: "is reserved for Ringway's own folders on {peer}, which receive no files",
    }
    FAILURE_DOT_NAME_HERE: "failure.dotName.here" {
        what: "begins with a dot, which a home folder here does not accept",
        terminal: "--dot-names accepts it",
        window: "",
    }
    FAILURE_DOT_NAME_THERE: "failure.dotName.there" {
        what: "begins with a dot, which the home folder on {peer} does not accept",
        terminal: "the receiver accepts it with --dot-names",
        window: "",
    }
    FAILURE_HOME_FOLDER_HERE: "failure.homeFolder.here" {
        what: "leads into a home folder here, which receives no files",
        terminal: "--allow-home accepts it",
        window: "",
    }
    FAILURE_HOME_FOLDER_THERE: "failure.homeFolder.there" {
        what: "leads into a home folder on {peer}, which receives no files",
        terminal: "the receiver accepts it with --allow-home",
        window: "",
    }
    FAILURE_NAME_UNSUPPORTED_HERE: "failure.nameUnsupported.here" {
        what: "has a name that the disk here does not support: rename it at the source",
    }
    FAILURE_NAME_UNSUPPORTED_THERE: "failure.nameUnsupported.there" {
        what: "has a name that the disk on {peer} does not support: rename it at the source",
    }

    // Why an entry was not copied inside this machine.
    COPY_OS: "copyFailure.os" {
        what: "could not be {operation}: {why}",
    }
    COPY_SPECIAL_FILE: "copyFailure.specialFile" {
        what: "is a special file, which could not be created there",
    }
    COPY_CHANGED: "copyFailure.changed" {
        what: "changed while it was being copied: copy it again once it no longer changes",
    }
    COPY_CONFLICT: "copyFailure.conflict" {
        what: "conflicts with an item of another type or in another spelling there, which was left unchanged",
    }
    COPY_LINK_TARGET_MISSING: "copyFailure.linkTargetMissing" {
        what: "is a hard link to a file that was not copied",
    }
    COPY_KEPT: "copyFailure.kept" {
        what: "already existed there and was left unchanged",
    }
    COPY_SAME_FILE: "copyFailure.sameFile" {
        what: "is the same file at the source and at the destination",
    }
    COPY_INTO_ITSELF: "copyFailure.intoItself" {
        what: "cannot be copied into itself",
    }
    COPY_DIFFERS: "copyFailure.differs" {
        what: "failed verification: check that disk, then copy it again",
    }
    COPY_CUT_SHORT: "copyFailure.cutShort" {
        what: "was being overwritten when the copy stopped, and is incomplete: copy it again",
    }
    COPY_CUT_SHORT_OS: "copyFailure.cutShort.os" {
        what: "was being overwritten and is incomplete, because it could not be {operation} ({why}): copy it again",
    }

    // What to do about an entry that was not copied.
    REFUSED_INTO_ITSELF: "refused.intoItself" {
        next: "Choose a folder outside the one that is copied.",
    }
    REFUSED_SAME_FILE: "refused.sameFile" {
        next: "Choose another folder.",
    }
    REFUSED_CONFLICT: "refused.conflict" {
        next: "Move the item there aside, or choose another folder.",
    }
    REFUSED_OTHER: "refused.other" {
        terminal: "",
        window: "Fix the cause, then copy again.",
    }

    // How a copy inside this machine ended early.
    COPY_FULL: "copyFault.full" {
        what: "No space left in {destination}.",
        next: "Complete files stay there. Free up space or choose another folder, then copy again.",
    }
    COPY_GONE: "copyFault.gone" {
        what: "{destination} no longer exists.",
        next: "Reconnect or create it again, or choose another folder, then copy again.",
    }
    COPY_CANCELLED: "copyFault.cancelled" {
        what: "Cancelled.",
        next: "Files copied so far stay in {destination}.",
    }
    COPY_SELECTION_GONE: "copyFault.selectionGone" {
        what: "The selection is no longer available.",
        next: "Choose again.",
    }
    COPY_NOTHING: "copyFault.nothing" {
        what: "Nothing was copied.",
    }
    COPY_SO_FAR: "copyFault.soFar" {
        what: "So far: {moved}.",
    }

    // A participle, as in "could not be opened".
    OPERATION_OPEN: "operation.open" {
        what: "opened",
    }
    OPERATION_READ: "operation.read" {
        what: "read",
    }
    OPERATION_WRITE: "operation.write" {
        what: "written",
    }
    OPERATION_CREATE: "operation.create" {
        what: "created",
    }
    OPERATION_RENAME: "operation.rename" {
        what: "given its final name",
    }
    OPERATION_METADATA: "operation.metadata" {
        what: "given its permissions, times, owner or attributes",
    }
    OPERATION_LINK: "operation.link" {
        what: "linked",
    }
    OPERATION_SYNC: "operation.sync" {
        what: "saved to the disk",
    }
    OPERATION_REMOVE: "operation.remove" {
        what: "removed",
    }

    // Labels in front of a command.
    REMEDY_UFW: "remedy.ufw" {
        what: "With ufw",
    }
    REMEDY_FIREWALLD: "remedy.firewalld" {
        what: "With firewalld",
    }
    REMEDY_LOAD_TLS: "remedy.loadTls" {
        what: "Load now",
    }
    REMEDY_KEEP_TLS: "remedy.keepTls" {
        what: "Load at startup",
    }
    REMEDY_WHO_LISTENS: "remedy.whoListens" {
        what: "Find the program",
    }
    REMEDY_SERVE: "remedy.serve" {
        what: "See the reason",
    }
    REMEDY_RESTART_SERVICE: "remedy.restartService" {
        what: "Restart the service",
    }

    // Why a fast path is not taken, after a colon.
    TLS_ASKED: "tls.why.configured" {
        what: "as configured",
    }
    TLS_NOT_IN_KERNEL: "tls.why.notInKernel" {
        what: "this kernel has no TLS",
    }
    TLS_MODULE_NOT_LOADED: "tls.why.moduleNotLoaded" {
        what: "the kernel's TLS module is not loaded",
    }
    TLS_MODULES_UNSEEN: "tls.why.modulesUnseen" {
        what: "the kernel's TLS module is not loaded, and Ringway cannot see whether it is installed, as in a container",
    }
    TLS_REFUSED: "tls.why.refused" {
        what: "the kernel refused it: {why}",
    }
    FILES_ASKED: "files.why.configured" {
        what: "as configured",
    }
    FILES_FASTER: "files.why.faster" {
        what: "they write files faster",
    }
    FILES_NOT_IN_KERNEL: "files.why.notInKernel" {
        what: "this kernel has no io_uring",
    }
    FILES_FORBIDDEN: "files.why.forbidden" {
        what: "io_uring is forbidden here (sysctl kernel.io_uring_disabled, seccomp or a container's policy)",
    }
    FILES_NO_MEMORY: "files.why.noMemory" {
        what: "too little memory may be locked for io_uring (ulimit -l)",
    }
    FILES_OPCODE_MISSING: "files.why.opcodeMissing" {
        what: "this kernel's io_uring is too old",
    }
    FILES_REFUSED: "files.why.refused" {
        what: "the kernel refused io_uring: {why}",
    }

    // Why a shared folder cannot be read.
    SHARE_MISSING: "share.why.missing" {
        what: "it does not exist",
    }
    SHARE_NOT_MOUNTED: "share.why.notMounted" {
        what: "its disk is not mounted",
    }
    SHARE_REPLACED: "share.why.replaced" {
        what: "something else has its path",
    }
    SHARE_NOT_READABLE: "share.why.notReadable" {
        what: "it is not readable",
    }
    SHARE_FAILED: "share.why.failed" {
        what: "it cannot be opened",
    }
    SHARE_NOT_ANSWERING: "share.why.notAnswering" {
        what: "its filesystem does not answer",
    }
    SHARE_NOT_WRITABLE: "share.why.notWritable" {
        what: "it is not writable",
    }

    // Faults.
    PATH: "fault.path" {
        what: "{path} could not be {operation}: {why}.",
        next: "Fix the cause, then try again.",
    }
    PATH_NOT_FOUND: "fault.path.notFound" {
        terminal: "Check the spelling.",
        window: "It may have been moved, removed or disconnected. Choose again.",
    }
    PATH_DENIED: "fault.path.denied" {
        terminal: "Check its permissions (ls -ld), or name another folder.",
        window: "Change its permissions, or choose something else.",
    }
    PATH_FULL: "fault.path.full" {
        next: "Free up space there, or choose another folder.",
    }
    PATH_READ_ONLY: "fault.path.readOnly" {
        next: "Choose a writable folder.",
    }
    PATH_NOT_A_FOLDER: "fault.path.notAFolder" {
        next: "A part of that path is a file. Choose a folder.",
    }
    PATH_NAME_TOO_LONG: "fault.path.nameTooLong" {
        next: "Choose a shorter name.",
    }
    PATH_TOO_MANY_OPEN: "fault.path.tooManyOpen" {
        terminal: "Raise the limit of this shell: `sudo prlimit --pid $$ --nofile=4096:4096`, then try again.",
        window: "Raise the limit of open files, and start Ringway again.",
    }
    PATH_DISK: "fault.path.disk" {
        terminal: "The disk may be failing: `sudo dmesg | tail` says more. Back up its data, and choose another disk.",
        window: "The disk may be failing. Back up its data, and choose another disk.",
    }
    NOT_PUBLISHED: "fault.notPublished" {
        what: "{path} could not be {operation}: {why}. Already there: {names}.",
        next: "Complete files are kept. Fix the cause, then send the same again to resume.",
    }
    NOT_PUBLISHED_MORE: "fault.notPublished.more" {
        what: "{names} and {n, number} more",
    }
    UNKNOWN_TARGET: "fault.unknownTarget" {
        what: "“{target}” is neither a paired device nor an address.",
        terminal: "The last argument is the target: a name from `ringway devices`, or HOST or HOST:PORT as `ringway recv` shows it.",
        window: "Enter the address from the other device's Inbox.",
    }
    UNKNOWN_SCOPE: "fault.unknownTarget.scope" {
        what: "“{target}” is not a link-local address on an interface of this device.",
        terminal: "Write it as fe80::1%eth0, with the interface of this machine that leads there (`ip link` lists them), or without: then Ringway tries each.",
        window: "Write it as fe80::1%eth0, with the interface of this device that leads there, or without: then Ringway tries each.",
    }
    UNREACHABLE: "fault.unreachable" {
        what: "{target} cannot be reached: {why}.",
        next: "Check the address. The other device must be awake and receiving.",
    }
    UNREACHABLE_NO_NAME: "fault.unreachable.noName" {
        what: "No device was found by the name in {target}: {why}.",
        terminal: "It is neither the name of a paired device (`ringway devices`) nor of a host. An address, as in 192.168.1.20, always works.",
        window: "Check the spelling, or enter the address from the other device's Inbox.",
    }
    UNREACHABLE_REFUSED: "fault.unreachable.refused" {
        terminal: "Nothing accepts connections at that port. Start `ringway recv` there, and use the address and port that it shows. If it receives already, a firewall refuses: `ringway doctor` there shows the command that opens the port.",
        window: "Turn on receiving there, and check the port. If both are right, open the firewall there: the Inbox or “ringway doctor” shows the command.",
    }
    UNREACHABLE_FIREWALL: "fault.unreachable.firewall" {
        next: "Check the address, and that the other device is awake and receiving. If so, open its firewall: run one of these commands there.",
    }
    UNREACHABLE_NO_NETWORK: "fault.unreachable.noNetwork" {
        terminal: "Connect this device to a network, then try again. `ringway doctor` lists its addresses.",
        window: "Connect this device to a network, then try again.",
    }
    LISTEN: "fault.listen" {
        what: "Ringway cannot receive on port {port}: {why}.",
        terminal: "Another receiver may be running. Close that program, or use another port: --listen :0 takes a free one.",
        window: "Use another port, or close that program and try again.",
    }
    LISTEN_AT: "fault.listen.at" {
        what: "Ringway cannot receive on {address}: {why}.",
    }
    LISTEN_DENIED: "fault.listen.denied" {
        terminal: "Ports below 1024 are reserved for root. Choose a higher one with --listen :PORT.",
        window: "Ports below 1024 are reserved. Choose a higher one in Settings.",
    }
    LISTEN_NO_ADDRESS: "fault.listen.noAddress" {
        terminal: "This device has no such address; `ringway doctor` lists the ones it has.",
        window: "Try again, or use another port.",
    }
    LISTEN_OTHER: "fault.listen.other" {
        next: "Try again, or use another port.",
    }
    PAIRING_NEEDED: "fault.pairingNeeded" {
        what: "The device that calls itself “{name}” is not paired with this one, or one has forgotten the other.",
        terminal: "Enter the code that its `ringway recv` shows: at the prompt in a terminal, with --code-file FILE, or in RINGWAY_CODE.",
        window: "Enter the code from its Inbox.",
    }
    WRONG_CODE: "fault.wrongCode" {
        what: "Wrong code for {peer}, or it has been replaced.",
        next: "Enter the code that it shows now. After three wrong attempts it shows a new one.",
    }
    NOT_A_CODE: "fault.notACode" {
        what: "This is not a code.",
        terminal: "A code is a number and two words, such as 42-river-castle. A standing secret has 16 to 1,024 bytes.",
        window: "A code is a number and two words, such as 42-river-castle.",
    }
    UNKNOWN_WORD_FIRST: "fault.unknownWord.first" {
        what: "The first word is not in any code.",
    }
    UNKNOWN_WORD_SECOND: "fault.unknownWord.second" {
        what: "The second word is not in any code.",
    }
    UNKNOWN_WORD: "fault.unknownWord" {
        next: "Check the spelling. Nothing was sent, and no attempt was used.",
    }
    CODE_NUMBER_TOO_LARGE: "fault.codeNumberTooLarge" {
        what: "The number of a code has at most three digits.",
        next: "Check the code. Nothing was sent, and no attempt was used.",
    }
    NO_VALID_CODE: "fault.noValidCode" {
        what: "{peer} has no valid code: it expired, was used, had too many wrong attempts, or pairing is off there.",
        terminal: "Have the receiver show a new code (ENTER at its terminal, or start it again) and use that one. A paired device needs none: name it instead of its address, and leave the code out.",
        window: "Choose “New code” in the Inbox there, then enter that code.",
    }
    PAIRING_BUSY: "fault.pairingBusy" {
        what: "{peer} is busy with another pairing attempt.",
        next: "Try again in {time}.",
    }
    IDENTITY_CHANGED: "fault.identityChanged" {
        what: "{name} answered with a different key than the one it was paired with. Known ID: {expected}. New ID: {found}. Nothing was sent to it.",
        terminal: "Another device may pretend to be {name}. If you know that {name} was reinstalled: `{forget}`, and pair again.",
        window: "Another device may pretend to be {name}. If {name} was reinstalled and shows the new ID in its Settings, forget it here and pair again.",
    }
    UNCONFIRMED: "fault.unconfirmed" {
        what: "{last} was at this address before. Now {name} ({found}), another paired device, answers. Nothing was sent.",
        terminal: "Name the device that you mean, for example `{send}`; or give the code that the receiver shows.",
        window: "Send only if you mean {name}.",
    }
    OTHER_ANSWERED: "fault.otherAnswered" {
        what: "A different device answered than the announced one. Announced ID: {announced}. Received ID: {found}. Nothing was sent.",
        terminal: "It may be an impostor. Name the receiver by its address, with the code that it shows.",
        window: "It may be an impostor. Enter the receiver's address, with the code that it shows.",
    }
    FORGOTTEN: "fault.forgotten" {
        what: "The device of that transfer, {name} ({id}), is no longer paired. Nothing was transferred now.",
        terminal: "Pair the two devices again, or name another device in a new command.",
        window: "Pair the two devices again, or choose the items again with another device.",
    }
    FORGOTTEN_OTHER: "fault.forgotten.other" {
        terminal: "{name} is now another device ({now}). If you mean that one, name it in a new command.",
        window: "{name} is now another device ({now}). If you mean that one, choose the items again and select it.",
    }
    NEW_TARGET: "fault.newTarget" {
        what: "Nothing was sent to {to}. This selection from the history went to {was} before.",
        terminal: "To send to another device, name the files and that device.",
        window: "To send to another device, confirm that in the dialog, or choose the items again.",
    }
    OURSELVES: "fault.ourselves" {
        what: "That is this device.",
        terminal: "Name another device; `ringway copy` copies on this one.",
        window: "Enter the address of another device.",
    }
    DECLINED: "fault.declined" {
        what: "{peer} declined the offer.",
        next: "A person or a rule there refused it. Ask its owner, then send again.",
    }
    DECLINED_NO_ANSWER: "fault.declined.noAnswer" {
        what: "Nobody answered the offer on {peer}.",
        terminal: "Ask somebody there to accept it, or start the receiver with --yes, then send again.",
        window: "Ask somebody there to accept it, then send again.",
    }
    DECLINED_NO_SPACE: "fault.declined.noSpace" {
        what: "{peer} has too little free space: at least {needed} needed, {free} free{missing}.",
        next: "Ask its owner to free up space or to choose another folder, then send again. If it went to a drop box, name another one, or none.",
    }
    DECLINED_NOT_WRITABLE: "fault.declined.notWritable" {
        what: "{peer} cannot write to the folder that receives this.",
        next: "Ask its owner to check the permissions or to choose another folder, then send again. If it went to a drop box, name another one, or none.",
    }
    DECLINED_PAUSED: "fault.declined.paused" {
        what: "This transfer is paused on {peer}.",
        next: "Resume it there, then send again.",
    }
    DECLINED_STOPPED: "fault.declined.stopped" {
        what: "{peer} has stopped receiving.",
        next: "Turn on receiving there, then send again.",
    }
    DECLINED_TOO_MANY_OFFERS: "fault.declined.tooManyOffers" {
        what: "{peer} accepts no more for now: too many offers were withdrawn, declined or not answered, or there were too many requests.",
        terminal: "Send again in {time}; --retry waits for that. Offers that a rule there accepts are not affected.",
        window: "Send again in {time}. Offers that a rule there accepts are not affected.",
    }
    DECLINED_TOO_MANY_NOTES: "fault.declined.tooManyNotes" {
        what: "{peer} takes no more notes for now.",
        terminal: "Send again in {time}; --retry waits for that.",
        window: "Send again in {time}.",
    }
    DECLINED_NOTES_FULL: "fault.declined.notesFull" {
        what: "{peer} has too many unread notes.",
        next: "Read or delete some there, then send again.",
    }
    DECLINED_BUSY: "fault.declined.busy" {
        what: "{peer} has too many running transfers.",
        next: "Send again when one has finished.",
    }
    DECLINED_HERE_NO_SPACE: "fault.declinedHere.noSpace" {
        what: "The folder here has too little free space: at least {needed} needed, {free} free{missing}.",
        next: "Free up space or choose another folder, then have {peer} send it again.",
    }
    DECLINED_HERE_BUSY: "fault.declinedHere.busy" {
        what: "This device has too many running transfers.",
        next: "Have {peer} send it again when one has finished.",
    }
    DECLINED_HERE_STOPPED: "fault.declinedHere.stopped" {
        what: "Receiving was stopped here before the transfer began.",
        next: "Turn receiving on again, then have {peer} send it again.",
    }
    CANCELLED_HERE: "fault.cancelled.here" {
        what: "Cancelled here.",
        terminal: "The receiver removes what arrived, except complete files in folders that existed before. Send the same again to complete it.",
        window: "",
    }
    CANCELLED_THERE: "fault.cancelled.there" {
        what: "Cancelled by {peer}.",
        terminal: "Complete files in folders that existed before are kept. A new folder was removed. Send the same again.",
        window: "",
    }
    CANCELLED_KEPT: "fault.cancelled.kept" {
        terminal: "What arrived is kept at the receiver. Send the same again to resume, or remove it there with `ringway inbox discard ID`.",
        window: "What arrived is kept. Send the same again to resume.",
    }
    CONNECTION_LOST: "fault.connectionLost" {
        what: "The connection to {peer} was lost before receipt was confirmed: {why}.",
        next: "No incomplete file appears under its final name. Send the same again to resume.",
    }
    CONNECTION_CLOSED: "fault.connectionLost.closed" {
        what: "The connection to {peer} was lost before receipt was confirmed: the program there ended, or the network failed.",
    }
    CONNECTION_SILENT: "fault.connectionLost.silent" {
        what: "Nothing was heard from {peer} for too long: it is asleep, or the network is down.",
    }
    PROTOCOL: "fault.protocol" {
        what: "Ringway does not understand a message from {peer}: {detail}.",
        terminal: "Install the same version of Ringway on both devices (`ringway --version`).",
        window: "Install the same version of Ringway on both devices.",
    }
    RECEIPT_CONTRADICTS: "fault.receiptContradicts" {
        what: "The receipt of {peer} contradicts what was sent: {detail}.",
        next: "It is not known which files arrived. Check the folder on {peer}, install the same version of Ringway on both devices, and send the same again.",
    }
    STALLED: "fault.stalled" {
        what: "Stalled: {peer} received nothing for {time}.",
        terminal: "Complete files are kept there. Send the same again to resume; --timeout sets how long to wait.",
        window: "Complete files are kept there. Send the same again to resume.",
    }
    STALLED_HERE: "fault.stalledHere" {
        what: "Stalled: {peer} sent nothing for {time}.",
        terminal: "Complete files are kept here. Have the same sent again to resume; --timeout sets how long to wait.",
        window: "Complete files are kept here. Have the same sent again to resume.",
    }
    VERSION: "fault.version" {
        what: "{peer} uses version {theirs, number} of Ringway's protocol, this device version {ours, number}.",
        next: "Install the same version of Ringway on both devices.",
    }
    TLS: "fault.tls" {
        what: "Could not establish an encrypted connection to {peer}: {detail}.",
        next: "Check that Ringway answers at that address and port. If it does, something between the two devices alters the traffic.",
    }
    NO_KERNEL_TLS: "fault.noKernelTls" {
        what: "Kernel TLS is required but not available: {why}.",
        terminal: "Leave --tls out: userspace encryption is the same on the wire.",
        window: "Let Ringway choose: userspace encryption is the same on the wire.",
    }
    NO_KERNEL_TLS_LOADABLE: "fault.noKernelTls.loadable" {
        terminal: "Load the kernel's TLS module, or leave --tls out.",
        window: "Load the kernel's TLS module, or let Ringway choose.",
    }
    NO_IO_URING: "fault.noIoUring" {
        what: "io_uring is required but not available: {why}.",
        terminal: "Leave --io out: plain system calls do the same.",
        window: "Let Ringway choose: plain system calls do the same.",
    }
    STORE: "fault.store" {
        what: "Ringway cannot use its own file {path}: {detail}.",
    }
    STORE_FULL: "fault.store.full" {
        terminal: "Free up space on its disk (`df {folder}`), or raise its quota, then try again. Leave the file where it is.",
        window: "Free up space on its disk, or raise its quota, then try again. Leave the file where it is.",
    }
    STORE_NOT_WRITABLE: "fault.store.notWritable" {
        terminal: "`ls -ld {folder} {file}` shows its permissions, `findmnt -T {folder}` whether its disk is mounted read-only. Leave the file where it is.",
        window: "Check its permissions, and whether its disk is mounted read-only. Leave the file where it is.",
    }
    STORE_NOT_READABLE: "fault.store.notReadable" {
        terminal: "`ls -ld {folder} {file}` shows its owner. Give this user access to it again (chown, chmod u+rw).",
        window: "Give this user access to it again.",
    }
    STORE_BUSY: "fault.store.busy" {
        terminal: "Another program has locked it. Try again. `fuser {file}` shows which program that is.",
        window: "Another program has locked it. Try again.",
    }
    STORE_DAMAGED_DATABASE: "fault.store.damagedDatabase" {
        terminal: "Restore it from a backup. Without one, move only this file away (`mv {file} {aside}`): the identity stays, paired devices and history are lost.",
        window: "Restore it from a backup. Without one, move only this file away: the identity stays, paired devices and history are lost.",
    }
    STORE_DAMAGED_IDENTITY: "fault.store.damagedIdentity" {
        terminal: "Restore it from a backup. Without one, move only this file away (`mv {file} {aside}`): this device then gets a new identity, and every device must forget it and pair with it again.",
        window: "Restore it from a backup. Without one, move only this file away: this device then gets a new identity, and every device must forget it and pair with it again.",
    }
    STORE_UNTRUSTED: "fault.store.untrusted" {
        next: "Then try again.",
    }
    STORE_OTHER: "fault.store.other" {
        terminal: "`ls -ld {folder} {file}` shows what is there, `sudo dmesg | tail` whether the disk failed.",
        window: "Check the file and its disk, then try again.",
    }
    CONFIG: "fault.config" {
        what: "{path}, line {line, number}: {detail}.",
    }
    CONFIG_WHOLE: "fault.config.whole" {
        what: "{path}: {detail}.",
    }
    CONFIG_ANY: "fault.config.any" {
        next: "Correct that line, or remove it: a setting without a line has its default.",
    }
    CONFIG_NEAREST: "fault.config.nearest" {
        next: "Did you mean {nearest}? Correct that line, or remove it.",
    }
    INVALID: "fault.invalid" {
        what: "This value is not valid: {detail}.",
        terminal: "",
        window: "Change it and try again.",
    }
    NOTHING_TO_SEND: "fault.unfit.nothingToSend" {
        what: "Nothing was chosen.",
        next: "Choose a folder or files first.",
    }
    SAME_NAME: "fault.unfit.sameName" {
        what: "Two items have the same name, “{name}”.",
        next: "Rename one, or transfer them one after the other.",
    }
    NAME_TOO_LONG: "fault.unfit.nameTooLong" {
        what: "The name “{name}” is longer than 255 bytes.",
        next: "Shorten it, then choose the item again.",
    }
    DEVICE_NAME: "fault.unfit.deviceName" {
        what: "This device name is not allowed.",
        next: "Use 1 to 64 bytes of visible text, without colons or dots, and without spaces around it. A name must not look like an ID (8 or more digits 0 to 9, a to f).",
    }
    NAME_TAKEN: "fault.unfit.nameTaken" {
        what: "Another device has this name.",
        next: "Choose a different name.",
    }
    UNKNOWN_DEVICE: "fault.unfit.unknownDevice" {
        what: "That device is not paired any more.",
        next: "Pair it again to use it.",
    }
    AMBIGUOUS_NAME: "fault.unfit.ambiguousName" {
        what: "{name} is both a paired device and the host of another one.",
        terminal: "For the host say {name}:17464; for the device give its id, which `ringway devices` lists.",
        window: "Choose the device's card, or enter the host with its port: {name}:17464.",
    }
    AMBIGUOUS_ID: "fault.unfit.ambiguousId" {
        what: "Several devices have an ID that begins like this.",
        next: "Enter more of the ID, or the device's name.",
    }
    PORT: "fault.unfit.port" {
        what: "Port 0 cannot be saved.",
        next: "Use a number from 1 to 65535.",
    }
    FOLDER: "fault.unfit.folder" {
        what: "The path of this folder cannot be saved. It must be absolute, and text in UTF-8.",
        next: "Choose another folder.",
    }
    OWN_FOLDER: "fault.unfit.ownFolder" {
        what: "{folder} belongs to Ringway and cannot receive files.",
    }
    HOME_FOLDER: "fault.unfit.homeFolder" {
        what: "{folder} is a home folder. Files received there can change how programs start.",
        terminal: "Name a folder inside it, such as Downloads, or say --allow-home.",
        window: "Choose a folder inside it.",
    }
    RULE_SIZE: "fault.unfit.ruleSize" {
        what: "The size limit of a rule must be between 1 byte and 8 EiB.",
        terminal: "Use another size, or refuse what the device offers.",
        window: "Use another size, or choose “Refuse” to accept nothing.",
    }
    SHARE_NAME: "fault.unfit.shareName" {
        what: "This name is not allowed for a shared folder.",
        next: "Use 1 to 64 bytes of visible text without slashes, colons and spaces around it, and not digits alone.",
    }
    UNFIT_NOTE: "fault.unfit.note" {
        what: "A note has 1 to {n, number} bytes of text.",
        next: "Send a longer text as a file.",
    }
    SHARE_NAME_TAKEN: "fault.unfit.shareNameTaken" {
        what: "Another shared folder has the name “{name}”.",
        terminal: "Give this one another name with --name.",
        window: "Choose a different name.",
    }
    UNKNOWN_SHARE: "fault.unfit.unknownShare" {
        what: "No folder is shared under the name “{name}”.",
        terminal: "`ringway share list` lists the shared folders.",
        window: "It may have been removed.",
    }
    SHARED_OWN_FOLDER: "fault.unfit.sharedOwnFolder" {
        what: "{folder} belongs to Ringway and is never shared.",
    }
    SHARED_HOME_FOLDER: "fault.unfit.sharedHomeFolder" {
        what: "{folder} is a home folder, or contains one. Sharing it shows private files, such as keys.",
        terminal: "Name a folder inside it, or say --allow-home.",
        window: "Choose a folder inside it.",
    }
    DROP_IN_HOME: "fault.unfit.dropInHome" {
        what: "{folder} is a home folder, or contains one. What is sent there can change how programs start.",
        next: "Choose a folder inside it for the drop box.",
    }
    DROP_NOT_WRITABLE: "fault.unfit.dropNotWritable" {
        what: "{folder} cannot be a drop box, because this user may not write into it.",
        next: "Give this user write permission there, or choose another folder.",
    }
    TOO_MANY_SHARES: "fault.unfit.tooManyShares" {
        what: "Too many folders are shared.",
        next: "Remove one, or share a folder that contains several.",
    }
    SHARE_REFERENCE: "fault.unfit.shareReference" {
        what: "This is not a device, a shared folder or a path in one.",
        terminal: "Say DEVICE, DEVICE:SHARE or DEVICE:SHARE/PATH, without .. in the path.",
        window: "Choose the folder from the list.",
    }
    LIMIT: "fault.unfit.limit" {
        what: "The upload limit must be between 1 kB/s and 1 PB/s.",
        next: "Enter another limit, or none.",
    }
    PAIRING_OFF: "fault.unfit.pairingOff" {
        what: "Pairing is off on this device, so it has no code.",
        next: "Turn on pairing first.",
    }
    TRANSFER_ID: "fault.unfit.transferId" {
        what: "This is not the ID of a transfer.",
        next: "Check the ID.",
    }
    RUNNING: "fault.unfit.running" {
        what: "This transfer is already running.",
        terminal: "",
        window: "It is listed under Activity.",
    }
    CANNOT_PAUSE: "fault.unfit.cannotPause" {
        what: "This transfer cannot be paused.",
        next: "It is finishing, or has ended.",
    }
    CANNOT_CANCEL: "fault.unfit.cannotCancel" {
        what: "This transfer cannot be cancelled.",
        next: "It is finishing, or has ended.",
    }
    PAUSE_NOT_BEGUN: "fault.unfit.pauseNotBegun" {
        what: "This transfer does not run yet, so it cannot be paused.",
        next: "Pause it once it runs, or cancel it.",
    }
    PAUSE_NO_RETRY: "fault.unfit.pauseNoRetry" {
        what: "This transfer cannot be paused, because it is not retried after an interruption.",
        next: "Let it run, or cancel it: what arrived is kept.",
    }
    PAUSE_TOO_MANY: "fault.unfit.pauseTooMany" {
        what: "This transfer cannot be paused: when it began, {n, number} others from that device were unfinished here, the most that can wait.",
        next: "Let it run, or cancel it: what arrived is kept. Resume or cancel paused ones, so that later ones can be paused.",
    }
    NO_DESTINATION: "fault.unfit.noDestination" {
        what: "No destination folder was chosen.",
        next: "Choose a folder.",
    }
    TOO_MANY: "fault.unfit.tooMany" {
        what: "Too many items were chosen.",
        next: "Choose the folder that contains them.",
    }
    PATTERN: "fault.unfit.pattern" {
        what: "The pattern “{pattern}” is not understood.",
        next: "Close each bracket, and put a character after each backslash. Patterns are written as in a .gitignore file.",
    }
    PATTERN_PATH: "fault.unfit.patternPath" {
        what: "The pattern “{pattern}” matches nothing: no entry has a path with “.”, “..” or “//” in it.",
        next: "Write “x” for that name at any depth, or “/x” for the one at the top.",
    }
    DESTINATION_FULL: "fault.destinationFull" {
        what: "The disk filled up during the transfer{missing}.",
        next: "Complete files are kept. Free up space there, then send the same again to resume.",
    }
    TOO_MUCH_HERE: "fault.tooMuchHere" {
        what: "Stopped at the limit: {size} were accepted, counting what earlier attempts brought.",
        terminal: "Complete files are kept. Ringway asks you when it is sent again; `ringway devices rule` changes the rule.",
        window: "Complete files are kept. Ringway asks you when it is sent again.",
    }
    TOO_MUCH_THERE: "fault.tooMuchThere" {
        what: "{peer} stopped the transfer at its limit: {size} were accepted there, counting what earlier attempts brought.",
        next: "Complete files are kept. Send again, and have it accepted there.",
    }
    PAUSED_HERE: "fault.pausedHere" {
        what: "The transfer was paused here and not resumed in time.",
    }
    PAUSED_THERE: "fault.pausedThere" {
        what: "{peer} paused the transfer and did not resume it in time.",
    }
    PAUSED: "fault.paused" {
        next: "Complete files are kept. Send the same again to resume.",
    }
    PEER_FORGOTTEN: "fault.peerForgotten" {
        what: "The transfer was stopped because the device was forgotten here.",
        next: "What arrived there is kept. Pair the two devices again, then send the same again to resume.",
    }
    NO_LONGER_SHARED_HERE: "fault.noLongerShared.here" {
        what: "Stopped: the folder is no longer shared with {peer}.",
        next: "What arrived stays where it is.",
    }
    NO_LONGER_SHARED_THERE: "fault.noLongerShared.there" {
        what: "{peer} no longer shares the folder with this device.",
        next: "What arrived is kept. Have it shared again there, then repeat the transfer to resume.",
    }
    DESTINATION_GONE: "fault.destinationGone" {
        what: "The destination folder was removed, renamed or unmounted during the transfer.",
        next: "Put it back or choose another one, then have it sent again.",
    }
    TURNED_AWAY: "fault.turnedAway" {
        what: "The connection to {peer} was closed before anything was sent on it.",
        next: "It may have too many connections, or be shutting down. Send again in a moment.",
    }
    NOT_SHARED: "fault.notShared" {
        what: "{peer} does not share a folder “{share}” with this device.",
        terminal: "`ringway ls DEVICE` lists what it shares. There, `ringway share add FOLDER --with DEVICE` shares a folder.",
        window: "Share the folder on that device first.",
    }
    NO_DROP_BOX: "fault.noDropBox" {
        what: "{peer} has no drop box “{share}” for this device.",
        terminal: "`ringway ls DEVICE` lists its drop boxes. There, `ringway share add FOLDER --drop --with DEVICE` makes a shared folder one.",
        window: "Make the shared folder a drop box on that device first.",
    }
    SHARE_UNAVAILABLE: "fault.shareUnavailable" {
        what: "The shared folder “{share}” is unavailable on {peer}: {why}.",
        next: "Make the folder available there, then try again.",
    }
    PATH_THERE: "fault.pathThere" {
        what: "{path} could not be {operation} on {peer}: {why}.",
        next: "Check the path, and its permissions on that device.",
    }
    PATH_THERE_LINK: "fault.pathThere.link" {
        next: "The path leads through a symbolic link, which is not followed. Name the path to which the link leads.",
    }
    PATH_THERE_KERNEL: "fault.pathThere.kernel" {
        next: "It is a part of the kernel's filesystems there, such as /proc, which are never shared.",
    }
    NOT_SERVED: "fault.notServed" {
        what: "The program that runs on {peer} only receives, and does not offer its shared folders.",
        terminal: "Start `ringway serve` there instead of `ringway recv`.",
        window: "Start Ringway there, or its service.",
    }
    // What is said next instead, by who has started a transfer: at a device that was offered it,
    // and then at one that asked for it and at one that serves it.
    OFFERED_AGAIN: "fault.offered.again" {
        next: "Complete files are kept, and no incomplete file appears under its final name. Have the same sent again to complete it.",
    }
    OFFERED_KEPT: "fault.offered.kept" {
        terminal: "What arrived is kept here. Have the same sent again to resume, or remove it with `ringway inbox discard ID`.",
        window: "What arrived is kept. Have the same sent again to resume.",
    }
    OFFERED_REMOVED: "fault.offered.removed" {
        terminal: "What arrived is removed, except complete files in folders that existed before. Have the same sent again to complete it.",
        window: "",
    }
    OFFERED_FULL: "fault.offered.full" {
        next: "Complete files are kept. Free up space, then have the same sent again to resume.",
    }
    OFFERED_NOT_PUBLISHED: "fault.offered.notPublished" {
        next: "Complete files are kept. Fix the cause, then have the same sent again to resume.",
    }
    GET_RESUME: "fault.get.resume" {
        next: "What arrived is kept. Get the same again to resume.",
    }
    GET_AGAIN: "fault.get.again" {
        next: "No incomplete file appears under its final name. Get the same again to complete it.",
    }
    GET_ROOM: "fault.get.room" {
        next: "Free up space or choose another folder, then get the same again.",
    }
    GET_FULL: "fault.get.full" {
        next: "Complete files are kept. Free up space, then get the same into the same folder again to resume.",
    }
    GET_NOT_PUBLISHED: "fault.get.notPublished" {
        next: "Complete files are kept. Fix the cause, then get the same again to resume.",
    }
    GET_BUSY: "fault.get.busy" {
        terminal: "Get it again when one has finished; --retry waits for that.",
        window: "Get it again when one has finished.",
    }
    GET_PAUSED: "fault.get.paused" {
        next: "Resume it there, then get it again.",
    }
    GET_TOO_MANY: "fault.get.tooMany" {
        terminal: "Get it again in {time}; --retry waits for that.",
        window: "Get it again in {time}.",
    }
    OFFERED_FORGOTTEN: "fault.offered.forgotten" {
        next: "Complete files in folders that existed before are kept. A new folder was removed. Pair the two devices again to receive it.",
    }
    GET_FORGOTTEN: "fault.get.forgotten" {
        next: "Complete files in folders that existed before are kept. Pair the two devices again, then get the same again.",
    }
    GET_GONE: "fault.get.gone" {
        next: "Put it back or choose another one, then get it again.",
    }
    GET_SOON: "fault.get.soon" {
        next: "It may have too many connections, or be shutting down. Try again in a moment.",
    }
    GET_REFUSED: "fault.get.refused" {
        terminal: "Nothing accepts connections at that port. Start `ringway serve` there, and use the address and port that it shows. If it runs already, a firewall refuses: `ringway doctor` there shows the command that opens the port.",
        window: "Start Ringway there, or its service, and check the port. If both are right, open the firewall there: the Inbox or “ringway doctor” shows the command.",
    }
    GET_PAIRING: "fault.get.pairing" {
        terminal: "`ringway code --new` there shows a code. Enter it: at the prompt in a terminal, with --code-file FILE, or in RINGWAY_CODE.",
        window: "Pair the two devices again, with the code from its Inbox.",
    }
    SERVED_KEPT: "fault.get.servedKept" {
        next: "What arrived at {peer} stays there.",
    }
    SERVED_AGAIN: "fault.get.servedAgain" {
        next: "What arrived at {peer} stays there. It can get the same again to resume.",
    }
    ANSWER_LOST: "fault.answerLost" {
        what: "The connection to {peer} was lost before it had answered: {why}.",
        next: "The program there ended, the network failed, or this device was forgotten there. Try again.",
    }
    ANSWER_SILENT: "fault.answerLost.silent" {
        what: "Nothing was heard from {peer} for too long: it is asleep, or the network is down.",
        next: "Try again when it is reachable.",
    }
    ASKING_STOPPED: "fault.askingStopped" {
        what: "This program was stopped for {time}, so {peer} ended the connection.",
        next: "Start the listing again.",
    }
    ASKING_INTERRUPTED: "fault.askingInterrupted" {
        what: "{peer} could not be asked for {time}: the transfer that asks is paused, interrupted or not connected yet.",
        next: "Resume the transfer or wait until it is connected, then try again.",
    }
    ANSWER_PAUSED: "fault.answerPaused" {
        what: "The listing is incomplete: nothing read it for a minute, so {peer} stopped it.",
        terminal: "List it again, into a file if it is to be read slowly.",
        window: "Open the folder again.",
    }
    ANSWER_BUSY: "fault.answerBusy" {
        what: "{peer} answers too many questions at once, or has too many connections.",
        next: "Try again in a moment.",
    }
    FAILED_THERE: "fault.failedThere" {
        what: "The transfer failed on {peer}.",
        next: "Fix the cause shown there, then send the same again to resume. Complete files are kept.",
    }
    FEW_DESCRIPTORS: "fault.fewDescriptors" {
        what: "A program limit is too low: {has, number} open files are allowed, {least, number} are needed.",
        terminal: "Raise the limit of this shell: `sudo prlimit --pid $$ --nofile=1024:1024`. In a systemd unit it is LimitNOFILE=1024.",
        window: "Raise the limit of open files, and start Ringway again.",
    }
    MISLEADING_NAME: "fault.misleadingName" {
        what: "{peer} has a name that reads as an ID or an address.",
        terminal: "No device may have such a name. Rename it there: `ringway settings --name NEW`.",
        window: "No device may have such a name. Rename it there, and try again.",
    }
    PROGRAM_ENDED: "fault.programEnded" {
        what: "Ringway ended before the transfer did: it was stopped or killed, or the device lost power.",
        next: "What arrived is kept. Send the same again to resume.",
    }
    UNANSWERED: "fault.unanswered" {
        what: "Nobody answered this offer.",
        terminal: "Have it sent again. `ringway devices rule NAME --accept` accepts offers from that device automatically.",
        window: "Have it sent again. To accept offers from {peer} automatically, see Devices.",
    }
    TOO_MANY_SENT: "fault.tooManySent" {
        what: "Not all of this selection is remembered.",
        terminal: "Name the files again. Only missing data is transferred.",
        window: "Choose it again. Only missing data is transferred.",
    }
    GROWN: "fault.grown" {
        what: "The offer from {peer} has grown to {size} since you saw it.",
        terminal: "`ringway offers` shows it; run `ringway accept` again to receive all of it.",
        window: "Accept it again to receive all of it.",
    }
    GONE: "fault.gone" {
        what: "This is no longer available.",
        terminal: "It was answered, withdrawn or removed, or has ended. `ringway status` shows what there is.",
        window: "It was answered, withdrawn or removed, or has ended.",
    }
    NOT_FOUND_DEVICE: "fault.notFound.device" {
        what: "No paired device is called “{name}”.",
        terminal: "`ringway devices` lists them.",
    }
    NOT_FOUND_OFFER: "fault.notFound.offer" {
        what: "No offer “{name}” is waiting for an answer.",
        terminal: "`ringway status` lists what there is, with ids.",
    }
    NOT_FOUND_PAIRING_REQUEST: "fault.notFound.pairingRequest" {
        what: "No pairing request “{name}” is waiting for an answer.",
        terminal: "`ringway status` lists what there is, with ids.",
    }
    NOT_FOUND_BLOCKED_DEVICE: "fault.notFound.blockedDevice" {
        what: "No blocked device is called “{name}”.",
        terminal: "`ringway status` lists what there is, with ids.",
    }
    NOT_FOUND_TRANSFER: "fault.notFound.transfer" {
        what: "No transfer “{name}” is running or waiting.",
        terminal: "`ringway status` lists what there is, with ids.",
    }
    NOT_FOUND_PAST_TRANSFER: "fault.notFound.pastTransfer" {
        what: "The history has no transfer with the number {name}.",
        terminal: "`ringway inbox --all` lists them.",
    }
    NOT_FOUND_NOTE: "fault.notFound.note" {
        what: "There is no note with the number {name}.",
        terminal: "`ringway notes` lists them.",
    }
    NOT_FOUND_UNFINISHED: "fault.notFound.unfinished" {
        what: "No unfinished transfer has the ID {name}.",
        terminal: "`ringway inbox unfinished` lists them; --in FOLDER looks into another folder.",
    }
    SERVICE_NOT_RUNNING: "fault.serviceNotRunning" {
        what: "The background service is not running.",
        terminal: "`ringway serve` starts it, and so does the window.",
    }
    SERVICE_GONE: "fault.serviceGone" {
        what: "The background service has stopped.",
        terminal: "Complete files are kept. `ringway serve` starts it again.",
        window: "Complete files are kept. The window reconnects when the service runs again.",
    }
    SERVICE_FAILED: "fault.serviceFailed" {
        what: "The background service cannot be reached: {detail}.",
        terminal: "",
        window: "Run the program “ringway” in a terminal to see the reason. It is installed beside this window.",
    }
    SERVICE_DIFFERS: "fault.serviceDiffers" {
        what: "The background service is version {theirs}, this program is version {ours}.",
        next: "Log out and in again, or restart the service.",
    }
    SYSTEMD: "fault.systemd" {
        what: "systemd could not change whether Ringway starts at login: {detail}.",
        terminal: "`systemctl --user status ringway` shows details.",
        window: "Run “systemctl --user status ringway” in a terminal for details.",
    }
    NO_PROGRAM: "fault.noProgram" {
        what: "The command “ringway” was not found.",
        next: "Install the Ringway package, or put the command into a folder on your PATH.",
    }
    NO_FILE_MANAGER: "fault.noFileManager" {
        what: "Could not start a file manager.",
        next: "The folder is {path}.",
    }
    DISCOVERY: "fault.discovery" {
        what: "Ringway cannot announce this device or find others on this network: {detail}.",
        next: "Everything else works. Use the other device's address.",
    }
    OTHER: "fault.other" {
        what: "Something went wrong: {detail}.",
        terminal: "",
        window: "Try again. To check this device, run “ringway doctor” in a terminal.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_text_and_a_key_of_its_own() {
        for (at, row) in ROWS.iter().enumerate() {
            let steps = [row.next, row.terminal, row.window];
            assert!(!row.what.is_empty() || steps.iter().any(|step| !step.is_empty()), "{}", row.key);
            assert!(row.next.is_empty() || (row.terminal.is_empty() && row.window.is_empty()), "{}", row.key);
            assert!(ROWS[..at].iter().all(|before| before.key != row.key), "{} is there twice", row.key);
        }
    }

    #[test]
    fn faults_and_their_steps_are_sentences() {
        for row in ROWS.iter().filter(|row| {
            ["fault.", "copyFault.", "refused.", "pairing.", "offer.", "code."]
                .iter()
                .any(|group| row.key.starts_with(group))
                && row.key != "fault.notPublished.more"
        }) {
            for text in [row.what, row.next, row.terminal, row.window].into_iter().filter(|text| !text.is_empty()) {
                assert!(text.ends_with('.'), "{}: {text}", row.key);
            }
        }
    }
}
