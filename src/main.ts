import "./locale";
import "@fontsource-variable/inter/wght.css";
import "./styles/tokens.css";
import "./styles/base.css";
import { mount } from "svelte";
import App from "./App.svelte";
import { ipc } from "./ipc";
import { AppState } from "./state/app.svelte";

const target = document.getElementById("app");
if (!target) throw new Error("index.html has no #app");

const app = new AppState(ipc);
void app.start();
mount(App, { target, props: { app } });
