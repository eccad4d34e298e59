// How components reach the state: one instance per window, handed down by Svelte's context.
import { createContext } from "svelte";
import type { AppState } from "./app.svelte";

export const [useApp, provideApp] = createContext<AppState>();
