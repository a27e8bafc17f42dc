// Rows of which only those in sight are in the page. Either all are here (append, fill), or they are fetched by the window.
const HEIGHT = 30, SPARE = 10, STEP = 100;
export default {
  template: `
    <div class="grid" ref="box" tabindex="0" role="table" :aria-rowcount="count" @scroll.passive="look" @keydown.enter.self="$el.querySelector('.row')?.focus()">
      <div class="heads" role="row">
        <span v-if="marks" class="mark"></span>
        <button v-for="(column, n) in columns" :key="column.name" type="button" role="columnheader" :class="{ right: column.right }" :style="{ width: widths[n] + 'px' }" :title="column.name + ' ' + column.type"
          :aria-sort="order === column.name ? (down ? 'descending' : 'ascending') : 'none'" @click="sort(column)">{{ column.name }}{{ order === column.name ? (down ? " ↓" : " ↑") : "" }}</button>
      </div>
      <div class="space" :style="{ height: count * 30 + 'px' }">
        <div v-for="line in lines" :key="line.line" class="row" role="row" :class="{ waiting: !line.cells, flash: line.flash, gone: line.gone }" :style="{ transform: 'translateY(' + line.at * 30 + 'px)' }" :aria-rowindex="line.at + 1" tabindex="-1" @dblclick="$emit('pick', { at: line.at })" @keydown.enter="$emit('pick', { at: line.at })" @keydown.down.prevent="$event.currentTarget.nextElementSibling?.focus()" @keydown.up.prevent="$event.currentTarget.previousElementSibling?.focus()">
          <span v-if="marks" class="mark" :class="line.mark">{{ { insert: "+", delete: "−", update: "~" }[line.mark] || "" }}</span>
          <span v-for="(column, n) in columns" :key="n" class="cell" role="cell" :class="{ right: column.right, null: line.cells && line.cells[n] === null }" :style="{ width: widths[n] + 'px' }" :title="line.cells && line.cells[n] && line.cells[n].length > 28 ? line.cells[n] : null">{{ line.cells ? (line.cells[n] === null ? "NULL" : line.cells[n]) : "" }}</span>
        </div>
      </div>
      <div v-if="columns.length && !count" class="none">{{ none }}</div>
    </div>`,
  props: { none: { type: String, default: "No rows." }, marks: Boolean },
  emits: ["window", "sort", "pick"],
  data: () => ({ columns: [], widths: [], count: 0, from: 0, to: 40, rows: {}, keys: {}, flashes: {}, local: false, order: null, down: false, version: 0, marked: {} }),
  computed: {
    lines() {
      const found = [];
      for (let at = this.from; at < Math.min(this.to, this.count); at++) {
        const key = this.keys[at] ?? `at ${at}`;
        // Rows that are fetched fill the lines that stand there already; those that move down are moved with theirs.
        found.push({ at, line: this.local ? key : at, cells: this.rows[at], flash: this.flashes[key] === this.version, mark: this.marked[at], gone: this.marked[at] === "delete" });
      }
      return found;
    },
  },
  created() { this.asked = new Map(); },
  mounted() { this.observer = new ResizeObserver(() => this.look()); this.observer.observe(this.$refs.box); },
  beforeUnmount() { this.observer.disconnect(); clearTimeout(this.timer); },
  methods: {
    // Begin with other rows: columns, how many, and whether they come by the window.
    reset(columns, count, { local = false, order = null, down = false, top = true } = {}) {
      const same = JSON.stringify(columns) === JSON.stringify(this.columns);
      Object.assign(this, { columns, count, local, order, down, rows: {}, keys: {}, flashes: {}, marked: {} });
      if (!same) this.widths = columns.map((c) => Math.max(80, 7.4 * (c.name.length + 2) + 24));
      this.measured = this.measured && same;
      this.asked.clear();
      if (top) this.$refs.box.scrollTop = 0;
      this.look();
    },
    // Rows of the window; those whose key is in changed light up.
    put(start, rows, keys, count, changed = []) {
      this.measure(rows);
      if (changed.length) { this.version++; for (const key of changed) this.flashes[key] = this.version; }
      rows.forEach((row, n) => { this.rows[start + n] = Object.freeze(row); if (keys.length) this.keys[start + n] = keys[n]; });
      this.count = count;
    },
    // The same rows, fetched again because some have changed.
    again() { this.asked.clear(); this.look(); },
    // All rows at once.
    fill(columns, rows, options = {}) {
      const { scrollTop } = this.$refs.box;
      this.reset(columns, rows.length, { local: true, top: false, ...options });
      this.put(0, rows, [], rows.length);
      this.$refs.box.scrollTop = scrollTop;
    },
    // These rows and no others, each with its mark.
    replace(columns, rows, marks) {
      this.fill(columns, rows);
      this.marked = Object.fromEntries(marks.map((mark, at) => [at, mark]));
    },
    // New rows on top, the oldest fall out below.
    prepend(columns, rows, marks, limit) {
      if (!this.columns.length || JSON.stringify(columns) !== JSON.stringify(this.columns)) this.reset(columns, 0, { local: true });
      this.measure(rows);
      this.serial = (this.serial || 0) + rows.length;
      const all = rows.map((cells, n) => ({ cells, key: `new ${this.serial - n}`, mark: marks[n] }));
      for (let at = 0; at < this.count && all.length < limit; at++) all.push({ cells: this.rows[at], key: this.keys[at], mark: this.marked[at] });
      this.version++;
      const flashes = {};
      rows.forEach((_, n) => (flashes[all[n].key] = this.version));
      const byPlace = (field) => Object.fromEntries(all.map((line, at) => [at, line[field]]));
      const box = this.$refs.box, stay = box.scrollTop > HEIGHT;
      Object.assign(this, { rows: byPlace("cells"), keys: byPlace("key"), marked: byPlace("mark"), flashes, count: all.length });
      if (stay) box.scrollTop += rows.length * HEIGHT;
    },
    measure(rows) {
      if (this.measured || !rows.length) return;
      this.measured = true;
      this.widths = this.columns.map((column, n) => {
        const longest = Math.max(column.name.length + 2, ...rows.slice(0, 100).map((row) => (row[n] ?? "NULL").length));
        return Math.round(Math.min(Math.max(longest, 6), 46) * 7.4 + 26);
      });
    },
    look() {
      const box = this.$refs.box;
      if (!box) return;
      const first = Math.floor(box.scrollTop / HEIGHT);
      this.from = Math.max(0, first - SPARE);
      this.to = first + Math.ceil(box.clientHeight / HEIGHT) + SPARE;
      if (this.local || !this.columns.length) return;
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.ask(), 40);
    },
    ask() {
      for (let page = Math.floor(this.from / STEP); page * STEP < Math.min(this.to, this.count || 1); page++) {
        if (this.asked.has(page)) continue;
        this.asked.set(page, true);
        this.$emit("window", { start: page * STEP, count: STEP });
      }
    },
    sort(column) {
      if (!this.local) return this.$emit("sort", { column: column.name });
      const n = this.columns.indexOf(column), rows = Object.values(this.rows);
      this.down = this.order === column.name && !this.down;
      this.order = column.name;
      const number = (text) => (text === null ? -Infinity : Number(text.replaceAll(",", "")));
      const compare = column.right ? (a, b) => number(a[n]) - number(b[n]) : (a, b) => (a[n] ?? "").localeCompare(b[n] ?? "");
      rows.sort((a, b) => compare(a, b) * (this.down ? -1 : 1));
      this.rows = Object.fromEntries(rows.map((row, at) => [at, row]));
      this.marked = {};
    },
  },
};
