// A chart in the page's own colours; new values move it without drawing it anew.
import { echarts } from "nicegui-echart";
import { land } from "headrace-land";

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const short = (unit) => (value) => {
  if (typeof value !== "number") return value;
  if (unit === "ms") return value >= 60000 ? `${+(value / 60000).toPrecision(3)} m` : value >= 1000 ? `${+(value / 1000).toPrecision(3)} s` : `${+value.toPrecision(3)} ms`;
  const letters = unit === "bytes" ? [[1e9, " GB"], [1e6, " MB"], [1e3, " kB"]] : [[1e9, "G"], [1e6, "M"], [1e3, "k"]];
  for (const [factor, letter] of letters) if (Math.abs(value) >= factor) return `${+(value / factor).toPrecision(3)}${letter}`;
  return `${+value.toPrecision(3)}${unit === "bytes" ? " B" : ""}`;
};
export default {
  // A picture says nothing to those who do not see it: the description has its values, or the last ones of a long line.
  template: `<div class="chart" role="img" :aria-label="label" :aria-description="said"></div>`,
  data() { return { said: "" }; },
  props: { kind: { type: String, default: "line" }, label: String, unit: String, group: String, limit: Number },
  async mounted() {
    await new Promise((resolve) => setTimeout(resolve));
    this.chart = echarts.init(this.$el, null, { renderer: "canvas" });
    if (this.group) { this.chart.group = this.group; echarts.connect(this.group); }
    this.observer = new ResizeObserver(() => this.chart.resize());
    this.observer.observe(this.$el);
    this.repaint = () => { this.chart.clear(); this.paint(); };
    addEventListener("headrace-theme", this.repaint);
    this.paint();
  },
  beforeUnmount() { removeEventListener("headrace-theme", this.repaint); this.observer?.disconnect(); this.chart?.dispose(); },
  methods: {
    put(data) { this.data = data; this.paint(); },
    paint() {
      if (!this.chart || !this.data) return;
      this.chart.setOption(this.kind === "map" ? this.map() : this.axes());
      this.said = this.kind === "map" ? `${(this.data.points || []).length} points` : this.words();
    },
    words() {
      const { x = [], time = false, series = [] } = this.data, say = short(this.unit), many = series.length > 1;
      return series.map((s) => {
        const last = s.values.length - 1, most = time ? 1 : 12;
        const told = s.values.slice(0, most).map((v, n) => `${x[n]} ${v === null ? "nothing" : say(v)}`).join(", ");
        const text = last < 0 ? "nothing" : time ? (s.values[last] === null ? "nothing" : `${say(s.values[last])} now`) : told;
        return `${many || time ? `${s.name}: ` : ""}${text}${!time && last >= most ? `, and ${last + 1 - most} more` : ""}`;
      }).join("; ");
    },
    base() {
      return {
        animation: false, textStyle: { fontFamily: color("--font") }, color: [1, 2, 3, 4, 5, 6].map((n) => color(`--series-${n}`)),
        tooltip: { trigger: this.kind === "map" ? "item" : "axis", confine: true, transitionDuration: 0, backgroundColor: color("--raised"), borderColor: color("--line"), textStyle: { color: color("--text"), fontSize: 12 }, valueFormatter: short(this.unit) },
      };
    },
    axes() {
      const { x = [], time = false, series = [] } = this.data, muted = color("--muted"), line = color("--line");
      const many = series.length > 1;
      return {
        ...this.base(),
        grid: { left: 8, right: 14, top: many ? 30 : 14, bottom: 6, containLabel: true },
        legend: many ? { top: 0, left: 4, icon: "roundRect", itemWidth: 12, itemHeight: 3, textStyle: { color: muted, fontSize: 12 }, data: series.map((s) => s.name) } : { show: false },
        xAxis: { type: time ? "time" : "category", ...(time ? {} : { data: x }), axisLine: { lineStyle: { color: line } }, axisTick: { show: false }, axisLabel: { color: muted, fontSize: 11, hideOverlap: true, ...(!time && x.length <= 8 ? { interval: 0 } : {}) }, splitLine: { show: false } },
        yAxis: { type: "value", min: (v) => (v.min < 0 ? v.min : 0), splitNumber: 4, axisLabel: { color: muted, fontSize: 11, formatter: short(this.unit), hideOverlap: true }, splitLine: { lineStyle: { color: line, opacity: 0.7 } } },
        series: series.map((s, n) => ({
          name: s.name, type: this.kind === "bar" ? "bar" : "line", showSymbol: !time && s.values.length < 2, symbolSize: 5, lineStyle: { width: 1.8 }, barMaxWidth: 38, itemStyle: this.kind === "bar" ? { borderRadius: [3, 3, 0, 0] } : {},
          areaStyle: this.kind === "bar" || many ? undefined : { opacity: 0.12 }, data: time ? s.values.map((v, m) => [x[m], v]) : s.values,
          markLine: n === 0 && this.limit !== undefined && this.limit !== null ? { silent: true, symbol: "none", lineStyle: { color: color("--bad"), type: "dashed" }, label: { formatter: "limit", color: color("--bad"), position: "insideEndTop" }, data: [{ yAxis: this.limit }] } : undefined,
        })),
      };
    },
    map() {
      echarts.getMap("land") || echarts.registerMap("land", land);
      const { points = [] } = this.data;
      const most = Math.max(1, ...points.map((p) => Math.abs(p.value)));
      return {
        ...this.base(),
        geo: { map: "land", roam: true, left: 12, right: 12, top: 4, bottom: 4, silent: true, itemStyle: { areaColor: color("--sunken"), borderColor: color("--line-strong"), borderWidth: 0.7 }, emphasis: { disabled: true } },
        series: [{ type: "scatter", coordinateSystem: "geo", clip: false, symbolSize: (v) => 6 + 16 * Math.sqrt(Math.abs(v[2]) / most), itemStyle: { color: color("--series-1"), opacity: 0.75 }, data: points.map((p) => ({ name: p.name, value: [p.longitude, p.latitude, p.value] })), tooltip: { formatter: (p) => `${echarts.format.encodeHTML(p.name)}: ${short(this.unit)(p.value[2])}` } }],
      };
    },
  },
};
