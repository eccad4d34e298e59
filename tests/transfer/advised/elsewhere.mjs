// Recommendations that other tests follow, and those that no test here can follow.

/** Followed by a test with that title, in that file. */
export const ELSEWHERE = [
  {
    keys: ["as `ringway inbox --sent` lists them, or nothing for the last one. To name a device, name what is sent as well: ringway send FOLDER DEVICE"],
    file: "tests/transfer/inbox.test.mjs",
    test: "a past transfer is sent again by its number, from any folder and to the same device",
  },
  {
    keys: ["advised::send_again_by_list(past.number)", "advised::send_again_by_list(number)"],
    file: "tests/transfer/inbox.test.mjs",
    test: "what was sent by a list is sent again with a list, any number of times",
  },
  {
    keys: [
      "advised::get_again(past.number)",
      "advised::get_again_by_list(past.number)",
      "advised::get_again_by_list(number)",
      "`ringway inbox` lists what was received, and `ringway inbox show NUMBER` says how to get it again.",
      "as `ringway inbox` lists them, or nothing for the last one. To name a device, name what is got as well: ringway get DEVICE:SHARE/PATH",
    ],
    file: "tests/transfer/get.test.mjs",
    test: "--again gets the last one, or one by its number, with its selection and options, into its folder",
  },
  {
    keys: [
      "Wait until that has ended, or name the get by its number (--again NUMBER): `ringway inbox` lists them.",
      "Wait until that has ended, or name the send by its number (--again NUMBER): `ringway inbox --sent` lists them.",
    ],
    file: "tests/transfer/again.test.mjs",
    test: "while something is got or sent, --again takes the number of the one before it, as it is listed",
  },
  {
    keys: ["{limit_text} (RLIMIT_FSIZE): `ulimit -f unlimited` lifts that for this shell."],
    file: "tests/transfer/file-size.test.mjs",
    test: "copy names the file-size limit of the process, not the file system, and the advised command lifts it",
  },
  {
    keys: ["Raise the limit of this shell: `sudo prlimit --pid $$ --nofile=1024:1024`."],
    file: "tests/transfer/descriptors.test.mjs",
    test: "the advised command raises a limit that is too low",
  },
  {
    keys: ["move only this file away (`mv {file} {aside}`): the identity stays"],
    file: "tests/transfer/state.test.mjs",
    test: "a damaged database is distinguished from the identity, and the advised command leaves the identity",
  },
  {
    keys: ["move only this file away (`mv {file} {aside}`): this device then gets a new identity"],
    file: "tests/transfer/state.test.mjs",
    test: "a damaged identity is named, and the advised command makes a new one",
  },
  {
    keys: ["Waiting until another one to the same device has ended (`ringway cancel ID`):"],
    file: "tests/window/queue.test.mjs",
    test: "what is dropped on a card behind another transfer waits, is reordered and taken out, and begins by itself",
  },
  {
    keys: ["yes, by systemd (`systemctl --user status ringway`)"],
    file: "tests/desktop/login.test.mjs",
    test: "the unit receives under a user's systemd with all of its hardening, and ends in order",
  },
  {
    keys: [
      "has `..` in it: only what lies in the source can be listed.",
      "a listed path is not within the source: it must be relative, without `..`, and no empty one",
    ],
    file: "tests/transfer/select.test.mjs",
    test: "selections that make no sense are refused before anybody is asked",
  },
  {
    keys: [
      "`ringway notes` lists them.",
      "There is more: `ringway notes show {} > FILE` writes all of it.",
      "For example: echo hello | ringway send --text lab-ws.",
      "Send it as a file: ringway send FILE TARGET.",
    ],
    file: "tests/transfer/notes.test.mjs",
    test: "what messages about notes recommend works",
  },
  {
    keys: ["Unread notes (`ringway notes show NUMBER`):"],
    file: "tests/transfer/notes.test.mjs",
    test: "the service keeps notes, its log and status have no text of them, and clearing the history deletes what was read",
  },
  {
    keys: ["Send it without --text: ringway send FOLDER TARGET.", "Send the folder itself: ringway send FOLDER TARGET."],
    file: "tests/transfer/notes.test.mjs",
    test: "a folder is no note, and no target",
  },
  {
    keys: ["`ringway doctor` there says whether its disk is full or cannot be written to. Then send the note again."],
    file: "tests/transfer/notes.test.mjs",
    test: "doctor, recv and the log of a service say why a note cannot be kept, which arrives once there is room",
  },
  {
    keys: ["For example: ringway get lab-ws:runs/2026-11-22 ."],
    file: "tests/transfer/get.test.mjs",
    test: "a whole share, its contents, and several paths at once",
  },
  {
    keys: ["`ringway ls DEVICE` lists its drop boxes. There, `ringway share add FOLDER --drop --with DEVICE` makes a shared folder one."],
    file: "tests/transfer/drop.test.mjs",
    test: "what is no drop box for the device has one answer, and says what to do",
  },
  {
    keys: ["Start `ringway serve` there instead of `ringway recv`."],
    file: "tests/transfer/get-ends.test.mjs",
    test: "who runs `ringway recv` is told apart from who does not share",
  },
  {
    keys: ["Start `ringway serve` there, and use the address and port that it shows. If it runs already, a firewall refuses: `ringway doctor` there shows the command that opens the port."],
    file: "tests/transfer/get-ends.test.mjs",
    test: "where nothing listens, get and ls name `ringway serve`, which lets them through",
  },
  {
    keys: ["`ringway code --new` there shows a code. Enter it: at the prompt in a terminal, with --code-file FILE, or in RINGWAY_CODE."],
    file: "tests/transfer/get-ends.test.mjs",
    test: "who is not paired gets with the code that `ringway code --new` there shows",
  },
  {
    keys: ["`ringway devices` lists the paired devices. Say DEVICE, DEVICE:SHARE or DEVICE:SHARE/PATH."],
    file: "tests/transfer/ls.test.mjs",
    test: "what is not shared, not there or no path is refused with its own error",
  },
  {
    keys: ["Devices that want to connect (`ringway allow ID`, `ringway dismiss ID`, `ringway block ID`):", "`ringway block --undo {}` takes that back.", "Blocked until the service ends (`ringway block --undo ID`):"],
    file: "tests/transfer/schema.test.mjs",
    test: "every event of the schema occurs",
  },
];

/** Cannot be followed here, and why. */
export const CANNOT = [
  {
    keys: ["Packages leave `ringway bench` out: in the folder src-tauri of Ringway's sources, `cargo run --release -p ringway-cli -- bench modes` builds it and runs it."],
    why: "a release build takes minutes; tests/package/contents.test.mjs holds that it is said",
  },
  {
    keys: ["sudo ufw allow {what}"],
    why: "ufw would change the firewall of the machine that the tests run on",
  },
  {
    keys: ["sudo firewall-cmd --permanent {what} && sudo firewall-cmd --reload"],
    why: "firewalld would change the firewall of the machine that the tests run on",
  },
  {
    keys: [
      "sudo modprobe tls",
      "`sudo modprobe tls`",
      "sudo tee /etc/modules-load.d/ringway.conf",
    ],
    why: "a module is loaded for the whole machine; tests/vm looks at kernel TLS with the module loaded",
  },
  {
    keys: ["sudo sysctl kernel.io_uring_disabled=0"],
    why: "the setting is the whole machine's",
  },
  {
    keys: [
      "`systemctl --user status ringway` shows details.",
      "`systemctl --user restart ringway`, or end its process and start it again.",
      "systemctl --user restart ringway",
    ],
    why: "no systemd here refuses the unit, or runs another version's; tests/desktop/login.test.mjs follows the same advice of the settings",
  },
  {
    keys: ["Rename it there: `ringway settings --name NEW`."],
    why: "no Ringway that can be built here has such a name; the same command is followed for a host of that name",
  },
  {
    keys: ["Install the same version of Ringway on both devices (`ringway --version`)."],
    why: "both ends here are of the same build, and neither breaks the protocol",
  },
];

/** Recommendations in the window that equal those of the command in the same situation. */
export const IN_THE_WINDOW = [
  {
    keys: ["the Inbox or “ringway doctor” shows the command."],
    as: "a port at which nobody listens is opened by a receiver, and doctor there names a firewall",
  },
  {
    keys: ["To check this device, run “ringway doctor” in a terminal."],
    as: "doctor says why the history will not have a transfer, and findmnt that the disk is read-only",
  },
];
