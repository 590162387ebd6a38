
"use strict";
(() => {
  const bar = document.getElementById("controls");
  const told = document.getElementById("filtered");
  const field = bar.querySelector("input");
  const button = bar.querySelector("button");
  bar.hidden = false;

  // Colours: the rules for the dark hold by the wish of the system until one chooses.
  const dark = [...document.styleSheets]
    .flatMap((sheet) => [...sheet.cssRules])
    .filter((rule) => rule.media && rule.media.mediaText.includes("dark"));
  const wish = matchMedia("(prefers-color-scheme: dark)");
  let isDark = wish.matches;
  const show = () => button.setAttribute("aria-pressed", String(isDark));
  wish.addEventListener("change", () => {
    if (!document.documentElement.dataset.theme) {
      isDark = wish.matches;
      show();
    }
  });
  button.addEventListener("click", () => {
    isDark = !isDark;
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
    for (const rule of dark) rule.media.mediaText = isDark ? "screen" : "not all";
    show();
  });
  show();

  // Filter: all words, anywhere in an entry. What is hidden is counted, also in print.
  const ENTRY = "main .finding:not(.rule), main tbody tr:not(.group), main .quantity, main .idle > li, main .heat > i, main ol.first > li";
  const entries = [...document.querySelectorAll(ENTRY)].filter(
    (one) => !one.parentElement.closest(ENTRY),
  );
  const texts = new Map();
  const textOf = (one) => {
    if (!texts.has(one)) {
      texts.set(one, `${one.textContent} ${one.title}`.toLowerCase());
    }
    return texts.get(one);
  };
  const folds = [...document.querySelectorAll("main section, main details")];
  const wereOpen = new Map(folds.map((one) => [one, one.open]));
  const filter = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = new Map();
    let count = 0;
    for (const one of entries) {
      const fits = words.every((word) => textOf(one).includes(word));
      one.classList.toggle("out", !fits);
      count += fits;
      let at = one.parentElement;
      while (at && at.localName !== "main") {
        found.set(at, (found.get(at) || 0) + fits);
        at = at.parentElement;
      }
    }
    for (const one of folds) {
      const isEmpty = words.length > 0 && found.get(one) === 0;
      if (!entries.includes(one)) one.classList.toggle("out", isEmpty);
      if (one.localName !== "details") continue;
      const holds = found.get(one) || words.some((word) => textOf(one).includes(word));
      one.open = words.length ? Boolean(holds) : wereOpen.get(one);
    }
    told.textContent = words.length
      ? `Filtered: ${count} of ${entries.length} entries hold “${field.value.trim()}”. ` +
        "The verdict is of all."
      : "";
  };
  let timer = 0;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(filter, entries.length > 500 ? 150 : 0);
  });
  addEventListener("hashchange", () => {
    const goal = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!goal) return;
    if (goal.closest(".out")) {
      field.value = "";
      filter();
    }
    for (let at = goal; at; at = at.parentElement) {
      if (at.localName === "details") at.open = true;
    }
    goal.scrollIntoView();
  });
})();
