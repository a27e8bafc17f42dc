// Jobs in a table that changes in place: rows keep their order until a heading is pressed.
export default {
  template: `
    <div>
      <div class="tiles" role="group" aria-label="Filter by state">
        <button v-for="tile in tiles" :key="tile.id" class="tile" type="button" :aria-pressed="String(only === tile.id)" @click="only = only === tile.id ? 'all' : tile.id">
          <span class="label">{{ tile.label }}</span><span class="value" :class="tile.value !== '0' && tile.tone">{{ tile.value }}</span>
        </button>
        <div class="tile"><span class="label">Rows per second</span><span class="value">{{ total }}</span></div>
      </div>
      <div class="card">
        <div class="card-head"><span class="grow">Jobs <span class="muted number" style="font-weight:400">{{ shown.length === rows.length ? rows.length : shown.length + " of " + rows.length }}</span></span>
          <div class="find"><input data-search v-model="search" type="search" placeholder="Filter by name, state, owner" aria-label="Filter jobs" /><kbd>/</kbd></div>
        </div>
        <div class="scroll-x"><table class="table jobs">
          <colgroup><col style="width:23%" /><col style="width:132px" /><col /><col style="width:136px" /><col style="width:88px" /><col style="width:88px" /><col style="width:92px" /><col style="width:88px" /><col style="width:76px" /></colgroup>
          <thead><tr>
            <th v-for="head in heads" :key="head.id" :class="{ right: head.right }" :aria-sort="order === head.id ? (down ? 'descending' : 'ascending') : 'none'">
              <button v-if="head.sort" type="button" @click="sort(head.id)">{{ head.label }}{{ order === head.id ? (down ? " ↓" : " ↑") : "" }}</button><template v-else>{{ head.label }}</template>
            </th></tr></thead>
          <tbody>
            <tr v-for="row in shown" :key="row.name" :data-job="row.name" @click="open(row, $event)">
              <td class="name"><a :href="row.href">{{ row.name }}</a></td>
              <td><span class="state" :class="row.tone">{{ row.state }}</span></td>
              <td :title="row.reason"><span class="state quiet" :class="row.health_tone">{{ row.health }}</span> <span class="why">{{ row.reason }}</span></td>
              <td><svg class="spark" viewBox="0 0 110 26" preserveAspectRatio="none" aria-hidden="true"><polygon :points="row.spark && '0,26 ' + row.spark + ' 110,26'" /><polyline :points="row.spark" /></svg></td>
              <td class="right">{{ row.rate }}</td><td class="right">{{ row.latency }}</td><td class="right">{{ row.lag }}</td><td class="right">{{ row.size }}</td><td class="right">{{ row.rejected }}</td>
            </tr>
          </tbody>
        </table></div>
        <div v-if="ready && !shown.length" class="empty"><div class="what">No job fits the filter</div><p>Press a tile again, or empty the search field, to see all jobs.</p></div>
      </div>
    </div>`,
  data: () => ({
    rows: [], total: "0", search: "", only: "all", order: "name", down: false, place: {}, ready: false,
    heads: [
      { id: "name", label: "Job", sort: true }, { id: "state", label: "State", sort: true }, { id: "health", label: "Health", sort: true },
      { id: "spark", label: "Rows, last minutes" }, { id: "rate", label: "Rows/s", sort: true, right: true }, { id: "latency", label: "Latency", sort: true, right: true },
      { id: "lag", label: "Watermark", sort: true, right: true }, { id: "size", label: "State size", sort: true, right: true }, { id: "rejected", label: "Rejected", sort: true, right: true },
    ],
  }),
  computed: {
    tiles() {
      const number = (test) => String(this.rows.filter(test).length);
      return [
        { id: "all", label: "All jobs", value: String(this.rows.length), tone: "" },
        { id: "running", label: "Running", value: number((r) => r.group === "running"), tone: "tone-good" },
        { id: "attention", label: "Need attention", value: number((r) => r.group === "attention"), tone: "tone-warn" },
        { id: "failed", label: "Failed", value: number((r) => r.group === "failed"), tone: "tone-bad" },
        { id: "over", label: "Stopped or finished", value: number((r) => r.group === "over"), tone: "" },
      ];
    },
    shown() {
      const words = this.search.toLowerCase().split(/\s+/).filter(Boolean);
      return this.rows
        .filter((r) => (this.only === "all" || r.group === this.only) && words.every((w) => r.text.includes(w)))
        .sort((a, b) => (this.place[a.name] ?? 1e9) - (this.place[b.name] ?? 1e9) || a.name.localeCompare(b.name));
    },
  },
  methods: {
    put(rows, total) { this.rows = rows; this.total = total; this.ready = true; if (this.order !== "name" || this.down) this.freeze(); },
    patch(changes, total) {
      const known = Object.fromEntries(this.rows.map((r) => [r.name, r]));
      for (const { name, ...fields } of changes) if (known[name]) Object.assign(known[name], fields);
      this.total = total;
    },
    sort(id) {
      this.down = this.order === id ? !this.down : ["rate", "latency", "lag", "size", "rejected"].includes(id);
      this.order = id;
      this.freeze();
    },
    freeze() {
      const key = (r) => r.sort[this.order] ?? r.name;
      const sorted = [...this.rows].sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0) * (this.down ? -1 : 1) || a.name.localeCompare(b.name));
      this.place = Object.fromEntries(sorted.map((r, n) => [r.name, n]));
    },
    open(row, event) { if (!event.target.closest("a") && !getSelection().toString()) event.currentTarget.querySelector("a").click(); },
  },
};
