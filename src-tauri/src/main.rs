//! Ringway's window: a client of the service, which it starts where none runs. Builds the Tauri
//! application and nothing else.
#![forbid(unsafe_code)]

mod bridge;
mod clipboard;
mod commands;
mod confirming;
mod drawing;
mod files;
mod launch;
mod link;
#[rustfmt::skip]
mod messages;
mod opening;

use anyhow::Context;
use tauri::{Manager, WindowEvent};

use crate::launch::Connection;
use crate::link::Link;
use crate::opening::Opening;

/// What desktops know the program by: the name of its desktop file. A window that the tray opens
/// has its icon and its group by that.
const APP_ID: &str = "org.ringway.Ringway";

fn main() -> anyhow::Result<()> {
    ringway_engine::return_large_blocks();
    // Codes pass through it. A kernel that refuses leaves dumps as the system has them.
    let _ = ringway_engine::private::forbid_core_dumps();
    let opening = Opening::parse(std::env::args_os().skip(1)).context("cannot tell where relative paths begin")?;
    let opening = opening.with_token(|name| std::env::var(name).ok());
    let first = match tauri::async_runtime::block_on(settle(&opening)) {
        Start::Raised => return Ok(()),
        Start::Window(first) => first,
    };
    let link = Link::new(opening);
    let addresses = bridge::Addresses::default();
    let followed = addresses.clone();
    // GTK makes the Wayland app_id of it, and the X11 WM_CLASS; before it starts.
    gtk::glib::set_prgname(Some(APP_ID));
    tauri::Builder::default()
        .plugin(tauri_plugin_dialog::init())
        .plugin(tauri_plugin_opener::init())
        .invoke_handler(commands::all().invoke_handler())
        .setup(move |app| {
            app.manage(link.clone());
            app.manage(commands::FirstFolder::default());
            app.webview_windows().values().for_each(drawing::suit);
            app.webview_windows().values().for_each(|window| followed.follow(window));
            tauri::async_runtime::spawn(link.keep(app.handle().clone(), first));
            Ok(())
        })
        .on_window_event(move |window, event| {
            if let WindowEvent::DragDrop(drag) = event
                && let Some(dragged) = addresses.dragged(drag)
            {
                window.state::<Link>().drag(dragged);
            }
        })
        .run(tauri::generate_context!())
        .context("cannot open a window")
}

/// What this start is.
enum Start {
    /// Another window has been told to come to the front.
    Raised,
    /// The window; with its connection, where a service runs already.
    Window(Option<Connection>),
}

/// Asks the service, if one runs, whether there is a window. What goes wrong here is met again, and
/// said, by the window.
async fn settle(opening: &Opening) -> Start {
    let Ok(place) = launch::place() else { return Start::Window(None) };
    let Ok(connection) = launch::find(&place).await else { return Start::Window(None) };
    match connection.0.be_window().await {
        Ok(true) => Start::Window(Some(connection)),
        Ok(false) => match connection.0.raise(opening.paths.clone(), opening.view, opening.token.clone()).await {
            Ok(true) => Start::Raised,
            Ok(false) | Err(_) => Start::Window(None),
        },
        Err(_) => Start::Window(None),
    }
}
