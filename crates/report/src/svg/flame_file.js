(function () {
  // Frames by key: arrows move the focus, Enter and the space bar zoom, Escape shows all again.
  var box = function (frame) { return frame.querySelector("rect").attributes; };
  var level = function (frame) { return parseFloat(box(frame).y.value); };
  var from = function (frame) { return parseInt(box(frame)["fg:x"].value); };
  var samples = function (frame) { return parseInt(box(frame)["fg:w"].value); };
  var all = Array.prototype.slice.call(document.getElementById("frames").children);
  all.forEach(function (frame) {
    frame.setAttribute("tabindex", "-1");
    frame.setAttribute("role", "button");
    frame.setAttribute("aria-label", frame.querySelector("title").textContent);
    frame.addEventListener("focus", function () {
      details.nodeValue = g_to_text(frame);
      all.forEach(function (other) { other.setAttribute("tabindex", other === frame ? "0" : "-1"); });
    });
  });
  // Rows from the root on.
  var rows = [];
  all.forEach(function (frame) { if (rows.indexOf(level(frame)) < 0) rows.push(level(frame)); });
  rows.sort(function (a, b) { return inverted ? a - b : b - a; });
  var inRow = function (row) {
    return all.filter(function (frame) { return level(frame) === row && !frame.classList.contains("hide"); })
      .sort(function (a, b) { return from(a) - from(b); });
  };
  inRow(rows[0])[0].setAttribute("tabindex", "0");
  var next = function (frame, key) {
    var row = rows.indexOf(level(frame)), here = inRow(rows[row]), at = here.indexOf(frame);
    if (key === "ArrowLeft") return here[at - 1];
    if (key === "ArrowRight") return here[at + 1];
    if ((key === "ArrowUp") === inverted) return inRow(rows[row - 1]).filter(function (caller) { return from(caller) <= from(frame) && from(frame) < from(caller) + samples(caller); })[0];
    // The callee in which most of the time is spent.
    return inRow(rows[row + 1]).filter(function (callee) { return from(callee) >= from(frame) && from(callee) < from(frame) + samples(frame); })
      .sort(function (a, b) { return samples(b) - samples(a); })[0];
  };
  var controls = ["search", "unzoom"].map(function (id) { return document.getElementById(id); });
  controls.forEach(function (control) { control.setAttribute("tabindex", "0"); control.setAttribute("role", "button"); });
  window.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Escape") return unzoom();
    var isPressed = event.key === "Enter" || event.key === " ", at = controls.indexOf(event.target);
    if (isPressed && at >= 0) { event.preventDefault(); return at ? unzoom() : search_prompt(); }
    var frame = event.target.parentNode && event.target.parentNode.id === "frames" ? event.target : null;
    if (!frame) return;
    if (isPressed) {
      event.preventDefault();
      if (frame.classList.contains("parent")) unzoom();
      return zoom(frame);
    }
    if (event.key.indexOf("Arrow") !== 0) return;
    event.preventDefault();
    var other = next(frame, event.key);
    if (other) other.focus();
  });
})();
