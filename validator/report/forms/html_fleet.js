
(() => {
  // A pointer, a finger or the arrow keys on a cell tell its node; text, never markup.
  const map = document.getElementById("fleet-map");
  if (!map) return;
  const told = document.getElementById("told");
  const first = "Point at a node, tap it, or use the arrow keys: its name and reasons.";
  const cells = [...map.querySelectorAll("i")];
  let at = -1;
  told.textContent = first;
  const tell = (cell) => {
    if (at >= 0) cells[at].classList.remove("at");
    at = cells.indexOf(cell);
    if (at < 0) return;
    cell.classList.add("at");
    told.textContent = cell.className.replace("at", "").trim()
      ? cell.title
      : `${cell.title}: fit`;
  };
  for (const kind of ["pointerover", "click"]) {
    map.addEventListener(kind, (event) => {
      if (event.target.localName === "i") tell(event.target);
    });
  }
  map.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -20, ArrowDown: 20 }[event.key];
    if (!step || !cells.length) return;
    event.preventDefault();
    const next = Math.min(cells.length - 1, Math.max(0, at + step));
    tell(cells[next]);
  });
})();
