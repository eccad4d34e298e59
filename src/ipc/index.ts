// The only module that knows Tauri: calls, commands and channels for the rest of the front end.
import { Channel } from "@tauri-apps/api/core";
import { type AppEvent, commands, type Everything, type Fault, type PageAnswers, type PageCall, type Update } from "./bindings";

export type * from "./bindings";

/** What a command answers. */
export type Answer<T> = { status: "ok"; data: T } | { status: "error"; error: Fault };

function channel<T>(onMessage: (message: T) => void): Channel<T> {
  const made = new Channel<T>();
  made.onmessage = onMessage;
  return made;
}

/** The name of a call: itself where it has no fields. */
type NameOf<C extends PageCall> = keyof PageAnswers & (C extends string ? C : keyof C);

export const ipc = {
  ...commands,
  /** Asks the service; the answer is of the type that the call's name has in the bindings. */
  call: <C extends PageCall>(call: C) => commands.call(call) as Promise<Answer<PageAnswers[NameOf<C>]>>,
  /** Everything to show; what changes later goes to `onEvent`, in order. */
  start: (onEvent: (event: AppEvent) => void): Promise<Answer<Everything>> => commands.start(channel(onEvent)),
  /** Lets a transfer's figures flow to `onUpdate` until it has ended. */
  watch: (id: string, onUpdate: (update: Update) => void): Promise<Answer<null>> => commands.watch(id, channel(onUpdate)),
};

export type Ipc = typeof ipc;
