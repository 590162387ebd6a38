
(() => {
  // A page does not know when it is read; the reader's clock does.
  const end = Date.parse(document.getElementById("not-after").dateTime);
  if (Number.isNaN(end) || Date.now() <= end) return;
  const days = Math.floor((Date.now() - end) / 86400000);
  const told = document.getElementById("expired");
  told.textContent = `✗ Expired by the clock of this device: ${days} days ago.`;
})();
