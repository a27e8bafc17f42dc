// Light and dark, shortcuts and the editor's colours: what has to happen in the browser itself.
(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const wanted = () => localStorage.getItem("headrace-theme") || "system";
  const isDark = () => (wanted() === "system" ? system.matches : wanted() === "dark");
  function paint() {
    document.documentElement.dataset.theme = isDark() ? "dark" : "light";
    if (typeof setDark === "function") setDark(isDark());
    document.querySelectorAll("[data-theme-word]").forEach((e) => (e.textContent = { system: "System theme", light: "Light theme", dark: "Dark theme" }[wanted()]));
    dispatchEvent(new Event("headrace-theme"));
  }
  system.addEventListener("change", paint);
  paint();
  const toggle = () => {
    const next = { system: isDark() ? "light" : "dark", light: "dark", dark: "system" };
    const to = wanted() === "dark" && !system.matches ? "light" : next[wanted()];
    if (to === "system") localStorage.removeItem("headrace-theme");
    else localStorage.setItem("headrace-theme", to);
    paint();
  };

  addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select, [contenteditable=true]");
    if ((event.key === "k" && (event.ctrlKey || event.metaKey)) || (event.key === "/" && !typing)) {
      const page = event.key === "/" && document.querySelector(".main [data-search] input, .main input[data-search]");
      const field = page || document.querySelector(".jump input");
      if (field) { event.preventDefault(); field.focus(); field.select?.(); }
    }
  });

  // SQL that Spark does not have is marked as Headrace's own.
  const own = ["STREAM", "STREAMS", "SINK", "WATERMARK", "MATERIALIZED", "TUMBLE", "HOP", "SLIDE", "SESSION", "CUMULATE", "COUNT_TUMBLE", "COUNT_SLIDE", "PUNCTUATE", "DESCRIPTOR", "EMIT", "CHANGES", "CLOSE", "IDLE", "MATCH_RECOGNIZE", "MEASURES", "PATTERN", "DEFINE", "SUBSET", "WITHIN", "TIMEOUT", "SKIP", "PAST", "SYSTEM_TIME", "EXPLAIN", "LATE", "EVIDENCE"];
  async function dress(id, tries = 1500) {
    const element = window.getElement?.(id);
    if (!element?.editorPromise) return tries && setTimeout(() => dress(id, tries - 1), 40);
    const view = await element.editorPromise;
    const CM = await import("nicegui-codemirror");
    const classes = { "#708": "tok-keyword", "#219": "tok-number", "#164": "tok-number", "#a11": "tok-string", "#e40": "tok-string", "#940": "tok-comment", "#085": "tok-type", "#167": "tok-type", "#256": "tok-type" };
    const style = CM.HighlightStyle.define(CM.defaultHighlightStyle.specs.filter((s) => classes[s.color]).map((s) => ({ tag: s.tag, class: classes[s.color] })));
    const words = new CM.MatchDecorator({ regexp: new RegExp(`\\b(${own.join("|")})\\b`, "gi"), decorate: (add, from, to, match, v) => {
      const line = v.state.doc.lineAt(from), before = line.text.slice(0, from - line.from);
      if (!before.includes("--") && (before.match(/'/g) || []).length % 2 === 0) add(from, to, CM.Decoration.mark({ class: "tok-own" }));
    } });
    const plugin = CM.ViewPlugin.fromClass(class {
      constructor(v) { this.decorations = words.createDeco(v); }
      update(u) { this.decorations = words.updateDeco(u, this.decorations); }
    }, { decorations: (p) => p.decorations });
    view.dispatch({ effects: element.themeConfig.reconfigure([CM.syntaxHighlighting(style), plugin, CM.EditorView.contentAttributes.of({ "aria-label": "SQL of the application" })]) });
  }
  window.headrace = { toggle, paint, dress };
})();
