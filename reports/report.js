// Comfort only: the page is complete without it.
(() => {
  const root = document.documentElement;
  const button = document.getElementById("_theme");
  button.hidden = false;
  button.addEventListener("click", () => {
    const dark = getComputedStyle(root).colorScheme === "light dark"
      ? matchMedia("(prefers-color-scheme: dark)").matches
      : root.dataset.theme === "dark";
    root.dataset.theme = dark ? "light" : "dark";
  });
  const filter = document.getElementById("_filter");
  filter.hidden = false;
  filter.querySelector("select").addEventListener("change", (event) => {
    const tone = event.target.value;
    const shown = (element) => !tone || element.querySelector(".badge").classList.contains(tone);
    document.querySelectorAll(".cases tbody tr, [aria-labelledby=_evidence] > details")
      .forEach((element) => { element.hidden = !shown(element); });
  });
  const openTarget = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target instanceof HTMLDetailsElement) {
      target.open = true;
      target.scrollIntoView();
    }
  };
  addEventListener("hashchange", openTarget);
  openTarget();
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach((element) => { element.open = true; });
  });
  addEventListener("afterprint", () => closed.forEach((element) => { element.open = false; }));
})();
