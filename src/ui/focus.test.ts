import { tick } from "svelte";
import { afterEach, beforeEach, expect, test } from "vitest";
import { keepsFocus } from "./focus";

let stop: (() => void) | void;
const root = () => document.getElementById("root")!;
const settled = () => new Promise((resolve) => setTimeout(resolve, 5));
const focus = (id: string) => document.getElementById(id)!.focus();

beforeEach(() => {
  const row = (id: string) => `<li id="row-${id}"><button id="retry-${id}">Retry</button><button id="remove-${id}" class="icon">Remove</button></li>`;
  document.body.innerHTML = `<div id="root"><main><div><h1 tabindex="-1">View</h1><section id="list"><ul>${["a", "b", "c"].map(row).join("")}</ul></section><p><button id="save">Save</button></p></div></main></div>`;
  stop = keepsFocus()(root());
});

afterEach(() => {
  stop?.();
  document.body.innerHTML = "";
});

test("a row that vanished hands the keyboard to the same button of the next row, or of the one before", async () => {
  focus("remove-a");
  document.getElementById("row-a")!.remove();
  await settled();
  expect(document.activeElement?.id).toBe("remove-b");
  focus("remove-c");
  document.getElementById("row-c")!.remove();
  await settled();
  expect(document.activeElement?.id).toBe("remove-b");
});

test("what has come instead of it within its group has the keyboard", async () => {
  focus("retry-a");
  const instead = document.createElement("button");
  document.getElementById("retry-a")!.replaceWith(instead);
  await settled();
  expect(document.activeElement).toBe(instead);
});

test("a group that vanished hands it to the heading", async () => {
  focus("retry-b");
  document.getElementById("list")!.remove();
  await settled();
  expect(document.activeElement?.tagName).toBe("H1");
});

test("what is switched off for a while has it back", async () => {
  focus("save");
  const save = document.getElementById("save") as HTMLButtonElement;
  save.disabled = true;
  await settled();
  expect(document.activeElement?.tagName).toBe("H1");
  save.disabled = false;
  await settled();
  expect(document.activeElement).toBe(save);
});

test("a better place takes precedence, and a click beside everything removes the focus", async () => {
  focus("retry-a");
  document.getElementById("row-a")!.remove();
  await tick();
  focus("save");
  await settled();
  expect(document.activeElement?.id).toBe("save");
  (document.activeElement as HTMLElement).blur();
  await settled();
  expect(document.activeElement).toBe(document.body);
});
