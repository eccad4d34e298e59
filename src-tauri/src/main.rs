//! Ringway's window: builds the Tauri application and nothing else.
#![forbid(unsafe_code)]

mod bridge;
mod commands;

use anyhow::Context;
use ringway_engine::{Engine, Paths};
use ringway_service::App;
use tauri::{Manager, WindowEvent};

fn main() -> anyhow::Result<()> {
    let paths = Paths::from_env()?;
    let engine = Engine::open(paths.clone()).context("cannot open Ringway's identity and settings")?;
    let app = App::new(engine, &paths.state);
    let receiving = app.clone();
    tauri::Builder::default()
        .plugin(tauri_plugin_dialog::init())
        .plugin(tauri_plugin_opener::init())
        .invoke_handler(commands::all().invoke_handler())
        .setup(move |handle| {
            handle.manage(app);
            tauri::async_runtime::spawn(async move { receiving.listen(None).await });
            Ok(())
        })
        .on_window_event(|window, event| {
            if let WindowEvent::DragDrop(drag) = event {
                bridge::dragged(&window.state::<App>(), drag);
            }
        })
        .run(tauri::generate_context!())
        .context("cannot open a window")
}
