// The few WebDriver commands that the tests need (W3C WebDriver, section 10 and on), over fetch.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { freePort } from "../../setup/devices.mjs";
import { capture } from "../../setup/process.mjs";
import { picture } from "./display.mjs";
import { windowProcess } from "./processes.mjs";

/** The key of elements in WebDriver's answers (section 12.1). */
const ELEMENT = "element-6066-11e4-a52e-4f735466cecf";
/**
 * How long the page may take to show something: a debug build on two busy cores and a disk that is
 * in use by others.
 */
const PATIENCE_MS = 60_000;
const LOOK_EVERY_MS = 50;
/** How often the test checks whether an element to be clicked still moves. */
const MOVES_LOOKS_MAX = 100;
/** How often an XPath is asked for again of whose elements one went away meanwhile. */
const FIND_AGAIN_MAX = 10;

export const KEYS = { tab: "\uE004", enter: "\uE007", escape: "\uE00C", shift: "\uE008", home: "\uE011" };

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * The result of `look`, once it is neither null nor false. `what` completes the sentence "waited
 * for …".
 */
export async function eventually(what, look, patience = PATIENCE_MS) {
  const until = Date.now() + patience;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > until) {
      picture("failed");
      throw new Error(`waited ${patience / 1000} s for ${what}; the screen then: tests/.out/window/failed.png`);
    }
    await sleep(LOOK_EVERY_MS);
  }
}

function end(pid) {
  try {
    process.kill(pid);
  } catch (error) {
    // It has ended by itself.
    if (error.code !== "ESRCH") throw error;
  }
}

/**
 * The X window of the program that runs with `env`. The window of the previous test may exist for a
 * moment after its process has gone.
 */
export function windowId(env) {
  return eventually("the window", () => {
    const program = windowProcess(env);
    if (!program) return false;
    return capture("xdotool", ["search", "--onlyvisible", "--all", "--pid", String(program.pid), "--name", "^Ringway$"]).out.trim().split("\n")[0];
  });
}

/** The variables that let a driver into the program. */
const DRIVEN = { TAURI_AUTOMATION: "true", TAURI_WEBVIEW_AUTOMATION: "true" };

/** A page in a program that WebKitWebDriver drives. */
export class Page {
  /** Starts `binary` with `env` and a driver of its own. */
  static async open(binary, env, args = []) {
    const page = await Page.#driver([], { ...env, ...DRIVEN });
    return page.#begin({ "webkitgtk:browserOptions": { binary, args } });
  }

  /** The environment of a program that another program starts, so that `attach` finds it. */
  static async attachable() {
    const at = `127.0.0.1:${await freePort()}`;
    return { at, env: { ...DRIVEN, WEBKIT_INSPECTOR_SERVER: at } };
  }

  /** Drives a program of the device of `env` that was started with the result of `attachable`. */
  static async attach({ at }, env) {
    const page = await Page.#driver([`--target=${at}`], env);
    return page.#begin({});
  }

  static async #driver(args, env) {
    const port = await freePort();
    const driver = spawn("WebKitWebDriver", [`--port=${port}`, ...args], { env, stdio: ["ignore", "ignore", "pipe"] });
    const page = new Page(`http://127.0.0.1:${port}`, driver, env);
    driver.stderr.setEncoding("utf8").on("data", (text) => (page.said += text));
    await eventually("WebKitWebDriver", () => page.#ready());
    return page;
  }

  async #begin(options) {
    const wanted = { alwaysMatch: { browserName: "wry", ...options } };
    try {
      const { sessionId } = await this.#call("POST", "/session", { capabilities: wanted });
      this.session = `/session/${sessionId}`;
    } catch (error) {
      await this.close();
      throw new Error(`${error.message}\n${this.said}`);
    }
    return this;
  }

  constructor(base, driver, env) {
    this.base = base;
    this.driver = driver;
    this.env = env;
    this.said = "";
  }

  async #ready() {
    try {
      return (await this.#call("GET", "/status")).ready;
    } catch {
      return false;
    }
  }

  async #call(method, path, body) {
    const answer = await fetch(this.base + path, {
      method,
      headers: { "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const { value } = await answer.json();
    if (!answer.ok) throw new Error(`${method} ${path}: ${value.error}: ${value.message}`);
    return value;
  }

  #post(path, body = {}) {
    return this.#call("POST", this.session + path, body);
  }

  /**
   * Ends program and driver, and waits until the program has gone, so that the next test does not
   * find its window. The end of a session closes the page, but may leave the program running for a
   * while, or forever.
   */
  async close() {
    if (this.session) await this.#call("DELETE", this.session).catch(() => {});
    this.session = undefined;
    this.driver.kill();
    for (let left = windowProcess(this.env); left; left = windowProcess(this.env)) {
      end(left.pid);
      await sleep(LOOK_EVERY_MS);
    }
  }

  /** Reloads the page, and waits until it is there. */
  async reload() {
    await this.#post("/refresh");
  }

  /** Runs a function in the page. Its arguments and result are JSON. */
  script(body, ...args) {
    return this.#post("/execute/sync", { script: `return (${body}).apply(null, arguments)`, args });
  }

  /** Evaluates a program's text in the page. */
  evaluate(text) {
    return this.#post("/execute/sync", { script: text, args: [] });
  }

  /** Like `script`, for a function that returns a promise. */
  later(body, ...args) {
    const script = `const done = arguments[arguments.length - 1];
      (${body}).apply(null, arguments).then((value) => done({ value }), (error) => done({ error: String(error) }));`;
    return this.#post("/execute/async", { script, args });
  }

  /**
   * The first element that matches the XPath, or null. The driver evaluates the XPath first and
   * names the elements afterwards: it fails where one went away in between, so that is asked again.
   */
  async find(xpath) {
    for (let again = FIND_AGAIN_MAX; ; again -= 1) {
      try {
        const found = await this.#post("/elements", { using: "xpath", value: xpath });
        return found[0]?.[ELEMENT] ?? null;
      } catch (error) {
        if (!again || !error.message.includes("stale element reference")) throw error;
      }
    }
  }

  /** The first element that matches the XPath, once there is one. */
  wait(xpath, patience) {
    return eventually(xpath, () => this.find(xpath), patience);
  }

  /**
   * Clicks once the element does not move. The driver aims first and clicks then, so an element
   * that appears above it would move it away. At the window's lower edge the bar of the view "Send"
   * would lie over it.
   */
  async click(xpath, patience) {
    const element = await this.wait(xpath, patience);
    await this.later(async (element, looks, every) => {
      element.scrollIntoView({ block: "center" });
      const place = () => Object.values(element.getBoundingClientRect().toJSON()).join(" ");
      for (let before = "", look = 0; before !== place() && look < looks; look += 1) {
        before = place();
        await new Promise((resolve) => setTimeout(resolve, every));
      }
    }, { [ELEMENT]: element }, MOVES_LOOKS_MAX, LOOK_EVERY_MS);
    await this.#post(`/element/${element}/click`);
  }

  /** Types into an element. */
  async type(xpath, text) {
    await this.#post(`/element/${await this.wait(xpath)}/value`, { text });
  }

  /** Empties a field and types into it. */
  async fill(xpath, text) {
    await this.#post(`/element/${await this.wait(xpath)}/clear`);
    if (text) await this.type(xpath, text);
  }

  /** Presses keys, one after the other, with the present focus. */
  async keys(...keys) {
    const actions = keys.flatMap((value) => [
      { type: "keyDown", value },
      { type: "keyUp", value },
    ]);
    await this.#post("/actions", { actions: [{ type: "key", id: "keyboard", actions }] });
  }

  /**
   * Moves the driver's pointer to the corner, where it marks nothing. After a click it stays where
   * it was, and marks what comes to lie below it, sooner or later.
   */
  pointAway() {
    // Two moves: one to where the driver believes that it is would tell the page nothing.
    const actions = [2, 0].map((at) => ({ type: "pointerMove", origin: "viewport", x: at, y: at, duration: 0 }));
    return this.#post("/actions", { actions: [{ type: "pointer", id: "mouse", parameters: { pointerType: "mouse" }, actions }] });
  }

  async text(xpath) {
    return this.#call("GET", `${this.session}/element/${await this.wait(xpath)}/text`);
  }

  /**
   * Clicks, and from then on records every text and role that the page shows, however briefly.
   * Pictures and queries from outside come too late for what a fast machine does in a tenth of a
   * second. With `press`, the first button whose name begins like that is clicked as soon as it
   * exists.
   */
  async clickAndKeep(xpath, press) {
    await this.wait(xpath);
    await this.script(
      (path, wanted) => {
        const kept = (window.keptByTest = new Set());
        let pressed = !wanted;
        const look = () => {
          const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
          while (walker.nextNode()) kept.add(walker.currentNode.data.trim());
          for (const { role } of document.querySelectorAll("[role]")) kept.add(`role=${role}`);
          if (pressed) return;
          const name = (button) => button.ariaLabel || button.textContent.trim();
          const found = [...document.querySelectorAll("article button")].find((button) => name(button).startsWith(wanted));
          pressed = Boolean(found);
          found?.click();
        };
        new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true, attributes: true });
        document.evaluate(path, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE, null).singleNodeValue.click();
      },
      xpath,
      press,
    );
  }

  /** The texts and roles that `clickAndKeep` has recorded. */
  kept() {
    return this.script(() => [...window.keptByTest]);
  }

  /** All text of the page. */
  words() {
    return this.script("() => document.body.innerText");
  }

  /**
   * The page as the X server shows it, else as the driver does. The driver waits for a drawing by a
   * graphics card (WebKitGTK 2.50), which does not come if the window is drawn without
   * acceleration.
   */
  async picture(path) {
    if (this.env.WAYLAND_DISPLAY) return writeFileSync(path, Buffer.from(await this.#call("GET", `${this.session}/screenshot`), "base64"));
    // Compressed by PNG's fastest way: a picture is taken far more often than anybody looks at it.
    const made = capture("import", ["-window", await windowId(this.env), "-quality", "10", path]);
    if (made.status !== 0) throw new Error(`import: ${made.err}`);
  }

  resize(width, height) {
    return this.#post("/window/rect", { x: 0, y: 0, width, height });
  }
}

/** XPath of a button of the shown view by the beginning of its name. */
export const button = (name) =>
  `//main//button[starts-with(normalize-space(@aria-label), "${name}") or (not(@aria-label) and starts-with(normalize-space(.), "${name}"))]`;
/** XPath of a field by its `name`. */
export const field = (name) => `//input[@name="${name}"]`;
/** XPath of a button of the shown view by its whole text. */
export const exactly = (name) => `//main//button[normalize-space(.) = "${name}"]`;
/**
 * XPath of the element that contains `text` itself, where it can be seen: what only a screen reader
 * says does not count.
 */
export const showing = (text) => `//*[not(contains(@class, "unseen"))][text()[contains(., "${text}")]]`;
/** XPath of the line of a transfer that has ended so, which a click opens. */
export const line = (title, outcome) => `//main//*[@data-ended]//button[@aria-expanded][.//strong[. = "${title}"]][.//*[. = "${outcome}"]]`;
/** XPath of a paired device's row under Devices. */
export const device = (name) => `//li[@data-device][.//strong[starts-with(., "${name}")]]`;
