(function () {
  "use strict";
  var root = document.documentElement;
  var NARROW = 520;
  var canvases = Array.prototype.slice.call(document.querySelectorAll(".canvas"));
  var drawn = new Map();   // canvas -> its figure as written in the page
  var hidden = new WeakMap(); // figure element -> set of hidden legend groups
  var ranges = new WeakMap(); // figure element -> range of the linked time axis
  var printing = false;

  /* ---- theme ---- */
  var darkQuery = window.matchMedia("(prefers-color-scheme: dark)");
  function isDark() {
    var chosen = root.dataset.theme;
    return chosen ? chosen === "dark" : darkQuery.matches;
  }
  document.getElementById("theme-toggle").addEventListener("click", function () {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("trueup-theme", root.dataset.theme); } catch (error) { /* holds until the page is closed */ }
    redrawAll();
  });
  darkQuery.addEventListener("change", redrawAll);

  /* ---- figures: from what the page holds to what plotly.js takes ---- */
  function colourReader() {
    var style = getComputedStyle(root), known = {};
    return function (token) {
      if (!(token in known)) known[token] = style.getPropertyValue("--" + token).trim();
      return known[token];
    };
  }
  function withColours(value, colour) {
    if (typeof value === "string") return value[0] === "@" ? colour(value.slice(1)) || value : value;
    if (Array.isArray(value)) {
      // Samples are left as they are: arrays of colours hold a text in one of their first entries.
      if (typeof value[0] === "number" && typeof value[1] !== "string") return value;
      return value.map(function (entry) { return withColours(entry, colour); });
    }
    if (value && typeof value === "object") {
      var copy = {};
      for (var key in value) copy[key] = key === "hovertext" || key === "ticktext" || key === "text" || key === "name" ? value[key] : withColours(value[key], colour);
      return copy;
    }
    return value;
  }
  function merged(base, over) {
    if (!over || typeof over !== "object" || Array.isArray(over)) return over === undefined ? base : over;
    var copy = {}, key;
    for (key in base || {}) copy[key] = base[key];
    for (key in over) copy[key] = merged(copy[key], over[key]);
    return copy;
  }
  function baseLayout(colour, narrow) {
    var family = getComputedStyle(document.body).fontFamily;
    return {
      font: { family: family, size: narrow ? 11 : 12, color: colour("muted") },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      margin: { l: narrow ? 50 : 62, r: narrow ? 8 : 12, t: 8, b: 46 },
      showlegend: false, hovermode: "x", autosize: true, separators: ".",
      hoverlabel: { bgcolor: colour("paper"), bordercolor: colour("line"), font: { family: family, size: 12, color: colour("ink") }, namelength: 28 },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("muted"), activecolor: colour("ink") }
    };
  }
  function baseAxis(colour, vertical, zoom) {
    return {
      gridcolor: colour("grid"), zerolinecolor: colour("line"), zeroline: false, linecolor: colour("line"),
      fixedrange: vertical || !zoom, ticks: "", ticklen: 4, tickcolor: "rgba(0,0,0,0)",
      title: { font: { size: 12 }, standoff: vertical ? 8 : 6 }, exponentformat: "e", automargin: vertical
    };
  }
  function prepared(canvas, spec) {
    var figure = canvas.closest(".figure"), colour = colourReader();
    var narrow = canvas.clientWidth < NARROW;
    var zoom = Boolean(spec.zoom);
    var own = spec.layout, layout = merged(baseLayout(colour, narrow), {});
    ["xaxis", "yaxis"].concat(Object.keys(own).filter(function (key) { return /^[xy]axis\d+$/.test(key); })).forEach(function (key) {
      layout[key] = baseAxis(colour, key[0] === "y", zoom);
    });
    layout = merged(layout, withColours(own, colour));
    var data = withColours(spec.data, colour);
    if (narrow && spec.narrow) {
      Object.keys(spec.narrow).forEach(function (path) {
        var keys = path.split("."), value = spec.narrow[path];
        if (keys[keys.length - 1] !== "ticktext") value = withColours(value, colour);
        if (keys[0] === "data") { data.forEach(function (trace) { trace[keys[1]] = value; }); return; }
        var target = layout;
        keys.slice(0, -1).forEach(function (key) { target = target[key]; });
        target[keys[keys.length - 1]] = value;
      });
    }
    // On a touch screen dragging has to scroll the page.
    layout.dragmode = zoom && !window.matchMedia("(pointer: coarse)").matches ? "zoom" : false;
    layout.uirevision = "kept";
    if (printing) layout.width = canvas.clientWidth;
    var off = hidden.get(figure), range = ranges.get(figure);
    if (off) data.forEach(function (trace) { if (off.has(trace.legendgroup)) trace.visible = false; });
    if (range) layout.xaxis.range = range.slice();
    if (zoom) data.forEach(function (trace) { if (!trace.hovertemplate && trace.type === "scatter") trace.hovertemplate = "%{y:.5g}<extra>" + (trace.name || "") + "</extra>"; });
    return {
      data: data, layout: layout,
      config: {
        responsive: true, displaylogo: false, showTips: false, scrollZoom: false, doubleClick: zoom ? "reset+autosize" : false,
        displayModeBar: zoom ? "hover" : false,
        modeBarButtonsToRemove: ["select2d", "lasso2d", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "autoScale2d", "hoverClosestCartesian", "hoverCompareCartesian", "toggleSpikelines"],
        toImageButtonOptions: { format: "svg" }
      }
    };
  }
  function draw(canvas) {
    if (drawn.has(canvas)) return;
    var spec = JSON.parse(canvas.parentNode.querySelector('script[type="application/json"]').textContent);
    drawn.set(canvas, spec);
    var parts = prepared(canvas, spec);
    window.Plotly.newPlot(canvas, parts.data, parts.layout, parts.config);
    canvas.classList.add("drawn");
    if (canvas.closest("[data-linked]")) canvas.on("plotly_relayout", function (change) { follow(canvas, change); });
  }
  function redraw(canvas) {
    var parts = prepared(canvas, drawn.get(canvas));
    window.Plotly.react(canvas, parts.data, parts.layout, parts.config);
  }
  function redrawAll() { drawn.forEach(function (spec, canvas) { if (canvas.clientWidth) redraw(canvas); }); }

  /* ---- one time axis for all panels of a figure ---- */
  var following = false;
  function follow(origin, change) {
    if (following) return;
    var update = null, figure = origin.closest(".figure");
    if ("xaxis.range[0]" in change) {
      var range = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
      ranges.set(figure, range);
      update = { "xaxis.range": range };
    } else if (change["xaxis.autorange"]) {
      ranges.delete(figure);
      update = { "xaxis.autorange": true };
    }
    if (!update) return;
    following = true;
    var others = Array.prototype.filter.call(figure.querySelectorAll(".canvas.drawn"), function (canvas) { return canvas !== origin; });
    Promise.all(others.map(function (canvas) { return window.Plotly.relayout(canvas, update); })).then(function () { following = false; });
  }

  /* ---- legends ---- */
  document.querySelectorAll(".legend button").forEach(function (button) {
    button.addEventListener("click", function () {
      var figure = button.closest(".figure"), off = hidden.get(figure) || new Set();
      var group = button.dataset.group, show = off.has(group);
      if (show) off.delete(group); else off.add(group);
      hidden.set(figure, off);
      button.setAttribute("aria-pressed", String(show));
      figure.querySelectorAll(".canvas.drawn").forEach(redraw);
    });
  });

  /* ---- plotting code: unpacked once, when the first figure is near ---- */
  var loading = null;
  function load() {
    if (loading) return loading;
    var holder = document.getElementById("plotting-code");
    if (!holder) return Promise.reject(new Error("the page holds no plotting code"));
    if (typeof DecompressionStream === "undefined") {
      document.getElementById("no-plotting").hidden = false;
      loading = new Promise(function () {});
      return loading;
    }
    var binary = atob(holder.textContent), bytes = new Uint8Array(binary.length);
    for (var i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
    var stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    loading = new Response(stream).text().then(function (code) {
      var script = document.createElement("script");
      script.textContent = code;
      document.head.appendChild(script);
      holder.remove();
    });
    return loading;
  }

  /* ---- drawing as figures scroll into view, one a frame ---- */
  var queue = [], busy = false;
  function next() {
    var canvas = queue.shift();
    if (!canvas) { busy = false; announce(); return; }
    busy = true;
    if (canvas.clientWidth) draw(canvas);
    requestAnimationFrame(next);
  }
  function wanted(canvas) {
    if (drawn.has(canvas) || queue.indexOf(canvas) >= 0) return;
    queue.push(canvas);
    load().then(function () { if (!busy) { busy = true; requestAnimationFrame(next); } });
  }
  /* ---- the others, one at a time, while the reader is still ---- */
  function whenIdle(task) {
    if (window.requestIdleCallback) requestIdleCallback(task, { timeout: 500 }); else setTimeout(task, 50);
  }
  function drawRest(then) {
    load().then(function step() {
      var rest = Array.prototype.filter.call(canvases, function (canvas) {
        var seen = canvas.clientWidth && !canvas.closest("details:not([open])");
        return seen && !drawn.has(canvas) && queue.indexOf(canvas) < 0;
      });
      if (rest.length) wanted(rest[0]);
      else if (!busy && !queue.length) { then(); return; }
      whenIdle(step);
    }, then);
  }
  /* A frame whose document stays open holds back the load event, for which captures wait. */
  function holdLoadEvent() {
    var frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.appendChild(frame);
    frame.contentDocument.open();
    var release = function () {
      if (!frame) return;
      frame.contentDocument.close();
      frame.remove();
      frame = null;
    };
    setTimeout(release, 8000);
    return release;
  }
  var announced = false;
  function announce() {
    if (announced) return;
    announced = true;
    performance.mark("trueup-first-screen");
    root.dataset.firstScreen = performance.now().toFixed(0);
    if (canvases.length) drawRest(releaseLoadEvent);
  }
  var releaseLoadEvent = null;
  if (canvases.length) {
    // Captures of the whole page, and printing, find every figure drawn.
    releaseLoadEvent = holdLoadEvent();
    var observer = new IntersectionObserver(function (entries) {
      var any = false;
      entries.forEach(function (entry) { if (entry.isIntersecting) { any = true; wanted(entry.target); } });
      if (!any && !busy && !queue.length) announce();
    }, { rootMargin: "300px 0px" });
    canvases.forEach(function (canvas) { observer.observe(canvas); });
  } else {
    announce();
  }
  document.addEventListener("toggle", function (event) {
    if (event.target.open) event.target.querySelectorAll(".canvas.drawn").forEach(function (canvas) { if (canvas.clientWidth) window.Plotly.Plots.resize(canvas); });
  }, true);

  /* ---- print: everything open, everything drawn, light, as wide as the paper ---- */
  var closed = [], themeBefore;
  window.addEventListener("beforeprint", function () {
    themeBefore = root.dataset.theme;
    root.dataset.theme = "light";
    root.classList.add("printing");
    closed = Array.prototype.slice.call(document.querySelectorAll("main details:not([open])"));
    closed.forEach(function (details) { details.open = true; });
    if (!window.Plotly) return;
    printing = true;
    canvases.forEach(function (canvas) { if (drawn.has(canvas)) redraw(canvas); else draw(canvas); });
  });
  window.addEventListener("afterprint", function () {
    printing = false;
    root.classList.remove("printing");
    if (themeBefore) root.dataset.theme = themeBefore; else delete root.dataset.theme;
    closed.forEach(function (details) { details.open = false; });
    redrawAll();
  });

  /* ---- contents: where the reader is; links open what is folded ---- */
  var links = Array.prototype.slice.call(document.querySelectorAll(".contents a"));
  var sections = links.map(function (link) { return document.getElementById(link.hash.slice(1)); });
  function mark() {
    var current = 0;
    sections.forEach(function (section, index) { if (section && section.getBoundingClientRect().top < window.innerHeight * 0.3) current = index; });
    if (window.innerHeight + window.scrollY >= document.body.scrollHeight - 4) current = links.length - 1;
    links.forEach(function (link, index) { link.classList.toggle("current", index === current); });
  }
  var waiting = false;
  window.addEventListener("scroll", function () {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(function () { waiting = false; mark(); });
  }, { passive: true });
  if (links.length) mark();
  function openTarget() {
    var target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    var details = target.querySelector("details.section");
    if (details && !details.open) { details.open = true; target.scrollIntoView(); }
  }
  window.addEventListener("hashchange", openTarget);
  document.addEventListener("click", function (event) {
    var link = event.target.closest && event.target.closest('a[href^="#"]');
    if (!link) return;
    var contents = link.closest(".contents details");
    if (contents && window.innerWidth <= 900) contents.open = false;
    if (link.hash === location.hash) openTarget();
  });
  openTarget();

  /* ---- tables ---- */
  document.addEventListener("scroll", function (event) {
    var box = event.target;
    if (box.classList && box.classList.contains("scroll")) box.classList.toggle("scrolled", box.scrollLeft > 0);
  }, true);
  document.querySelectorAll("table[data-sortable]").forEach(function (table) {
    var body = table.tBodies[0];
    table.querySelectorAll("thead tr:last-child th").forEach(function (heading, column) {
      var label = heading.querySelector(".heading"), button = document.createElement("button");
      button.type = "button"; button.className = "sort"; button.append.apply(button, Array.from(label.childNodes));
      label.replaceChildren(button);
      button.addEventListener("click", function () {
        var down = heading.getAttribute("aria-sort") === "ascending";
        table.querySelectorAll("th[aria-sort]").forEach(function (other) { other.removeAttribute("aria-sort"); });
        heading.setAttribute("aria-sort", down ? "descending" : "ascending");
        Array.prototype.slice.call(body.rows).sort(function (a, b) {
          var order = compare(a.cells[column], b.cells[column]);
          return down ? -order : order;
        }).forEach(function (row) { body.appendChild(row); });
      });
    });
  });
  function compare(a, b) {
    var x = a.dataset.value, y = b.dataset.value;
    if (x !== undefined && y !== undefined) return parseFloat(x) - parseFloat(y) || 0;
    if (x !== undefined) return -1;
    if (y !== undefined) return 1;
    return a.textContent.localeCompare(b.textContent, "en", { numeric: true });
  }

  /* ---- replay: one instant of the stick figures, chosen by a slider or played in real time ---- */
  document.querySelectorAll(".replay").forEach(function (figure) {
    var data = JSON.parse(figure.querySelector("script").textContent), times = data.times;
    var slider = figure.querySelector("input"), shown = figure.querySelector("output"), button = figure.querySelector(".play");
    var pictures = Array.prototype.map.call(figure.querySelectorAll("svg"), function (svg) { return svg.querySelectorAll(".now"); });
    var playing = 0;
    function distance(metres) {
      return metres < 0.1 ? (1000 * metres).toPrecision(2) + " mm" : metres.toPrecision(2) + " m";
    }
    function show(frame) {
      pictures.forEach(function (paths, view) {
        paths.forEach(function (path, k) {
          var points = data.views[view][k][frame];
          path.setAttribute("d", data.edges.map(function (edge) {
            return "M" + edge.map(function (node) { return points[2 * node] + " " + points[2 * node + 1]; }).join("L");
          }).join(""));
        });
      });
      slider.value = frame;
      shown.textContent = times[frame].toFixed(2) + " s" + (data.apart.length ? " · largest distance " + distance(data.apart[frame]) : "");
    }
    function stop() { cancelAnimationFrame(playing); playing = 0; button.textContent = "▶"; button.setAttribute("aria-label", "Play"); }
    slider.addEventListener("input", function () { stop(); show(Number(slider.value)); });
    button.addEventListener("click", function () {
      if (playing) { stop(); return; }
      var frame = Number(slider.value) % (times.length - 1), since = performance.now() - 1000 * (times[frame] - times[0]);
      button.textContent = "❚❚"; button.setAttribute("aria-label", "Pause");
      playing = requestAnimationFrame(function step(now) {
        while (frame < times.length - 1 && times[frame + 1] - times[0] <= (now - since) / 1000) frame++;
        show(frame);
        if (frame < times.length - 1) playing = requestAnimationFrame(step); else stop();
      });
    });
    figure.classList.add("live");
    show(Number(slider.value));
  });

  /* ---- code ---- */
  document.querySelectorAll(".copy").forEach(function (button) {
    button.addEventListener("click", function () {
      var code = button.parentNode.querySelector("code"), selection = window.getSelection();
      selection.selectAllChildren(code);
      var done = document.execCommand("copy");
      selection.removeAllRanges();
      button.textContent = done ? "Copied" : "Select and copy by hand";
      setTimeout(function () { button.textContent = "Copy"; }, 1600);
    });
  });
})();
