// This machine: its identity, what it can do, the stored settings, and its start at login.
import type { About, Answer, Fault, Ipc, Machine, PathText, SettingsInForce, StartAtLogin } from "../ipc";

const NONE: SettingsInForce = {
  name: "",
  receive_folder: { path: "" },
  is_home: false,
  port: 0,
  send_limit: null,
  background: true,
  announce: true,
  receiving: true,
  acls: false,
};

export class Settings {
  stored = $state.raw(NONE);
  /** Its name is one of the settings, and may change. */
  deviceId = $state("");
  machine = $state.raw<Machine | null>(null);
  defaultPort = $state(0);
  codeAttemptsMax = $state(0);
  /** Whether the service starts when this user logs in; null until that is known. */
  atLogin = $state.raw<StartAtLogin | null>(null);
  /** Whether settings were ever stored here: until then the first run asks for them. */
  isSetUp = $state(true);
  /** The folder that was picked before anything is stored. */
  firstFolder = $state.raw<PathText | null>(null);
  /** What was wrong with where and when this machine receives. */
  receptionFault = $state.raw<Fault | null>(null);
  /** What the program is, and where it keeps what it owns; null until that is known. */
  about = $state.raw<About | null>(null);
  readonly #ipc: Ipc;

  constructor(ipc: Ipc) {
    this.#ipc = ipc;
  }

  /** Changes one of them; why that was refused, if it was. `send_limit` is bytes a second. */
  async change(change: Partial<Pick<SettingsInForce, "name" | "port" | "send_limit">>): Promise<Fault | null> {
    const { name, port, send_limit: sendLimit } = { ...this.stored, ...change };
    const answer = await this.#ipc.call({ saveSettings: { name, port, sendLimit } });
    if (answer.status === "error") return answer.error;
    this.stored = answer.data;
    return null;
  }

  async lookAbout(): Promise<void> {
    const answer = await this.#ipc.call("about");
    if (answer.status === "ok") this.about = answer.data;
  }

  /** What `ringway doctor` prints. */
  diagnose(): Promise<Answer<string>> {
    return this.#ipc.call("diagnose");
  }

  async setReceiving(receiving: boolean): Promise<void> {
    this.#changed(await this.#ipc.call({ setReceiving: { receiving } }));
  }

  async setAnnounce(announce: boolean): Promise<void> {
    this.#changed(await this.#ipc.call({ setAnnounce: { announce } }));
  }

  async setBackground(background: boolean): Promise<void> {
    this.#changed(await this.#ipc.call({ setBackground: { background } }));
  }

  async setAcls(acls: boolean): Promise<void> {
    this.#changed(await this.#ipc.call({ setAcls: { acls } }));
  }

  async chooseFolder(): Promise<void> {
    this.#changed(await this.#ipc.chooseReceiveFolder());
  }

  #changed(answer: Answer<SettingsInForce | null>): void {
    this.receptionFault = answer.status === "error" ? answer.error : null;
    // A switch that was pressed in vain goes back, too: the stored value is sent again.
    this.stored = (answer.status === "ok" && answer.data) || { ...this.stored };
  }

  async chooseFirstFolder(): Promise<void> {
    const answer = await this.#ipc.chooseFirstFolder();
    if (answer.status === "ok" && answer.data !== null) this.firstFolder = answer.data;
  }

  /** Stores the first settings; null leaves the start at login as it is. */
  async setUp(name: string, background: boolean, startAtLogin: boolean | null): Promise<boolean> {
    const answer = await this.#ipc.setUp(name, background, startAtLogin);
    this.#changed(answer);
    if (answer.status === "ok") this.isSetUp = true;
    return answer.status === "ok";
  }

  /** It is kept where the session keeps it, and may have been changed there. */
  async lookAtLogin(): Promise<void> {
    this.#atLogin(await this.#ipc.call("startAtLogin"));
  }

  async setStartAtLogin(on: boolean): Promise<void> {
    this.#atLogin(await this.#ipc.call({ setStartAtLogin: { on } }));
  }

  #atLogin(answer: Answer<StartAtLogin>): void {
    this.receptionFault = answer.status === "error" ? answer.error : null;
    this.atLogin = answer.status === "ok" ? answer.data : this.atLogin && { ...this.atLogin };
  }
}
