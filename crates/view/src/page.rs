//! The page, which `make web` builds from `web/`.

use serde_json::Value as Json;

use crate::site::Site;

const HTML: &str = include_str!("../page/index.html");
const SCRIPT: &str = include_str!("../page/app.js");
const STYLE: &str = include_str!("../page/app.css");

/// A file of the page and its type.
pub fn file(path: &str) -> Option<(&'static str, &'static str)> {
    match path {
        "" | "index.html" => Some(("text/html; charset=utf-8", HTML)),
        "app.js" => Some(("text/javascript; charset=utf-8", SCRIPT)),
        "app.css" => Some(("text/css; charset=utf-8", STYLE)),
        _ => None,
    }
}

/// The page as one file that needs nobody to ask.
pub fn export(site: &Site) -> String {
    site.refresh(None);
    let data: serde_json::Map<String, Json> = site.everything().into_iter().collect();
    // A text may hold the end of a script.
    let data = Json::Object(data).to_string().replace('<', "\\u003c");
    let style = format!("<style>{STYLE}</style>");
    let script = SCRIPT.replace("</script", "<\\/script");
    let scripts = format!(
        "<script type=\"application/json\" id=\"data\">{data}</script><script type=\"module\">{script}</script>"
    );
    HTML.replace("<link rel=\"stylesheet\" href=\"app.css\">", &style)
        .replace("<script type=\"module\" src=\"app.js\"></script>", &scripts)
}
