// Lines of a log: the newest at the bottom, followed until somebody scrolls up.
const MOST = 1000;
export default {
  template: `
    <div>
      <div class="line wrap" style="margin-bottom:10px">
        <div class="find"><input data-search v-model="search" type="search" placeholder="Filter lines" aria-label="Filter lines" /><kbd>/</kbd></div>
        <div class="chips" role="group" aria-label="Levels"><button v-for="level in ['all', 'warnings', 'errors']" :key="level" type="button" class="btn small" :aria-pressed="String(least === level)" @click="least = level">{{ { all: "All", warnings: "Warnings and errors", errors: "Errors" }[level] }}</button></div>
        <span class="grow"></span><span class="muted small number">{{ shown.length }} of {{ lines.length }} lines</span>
        <button type="button" class="btn small" :aria-pressed="String(follow)" @click="follow = !follow">{{ follow ? "Following" : "Follow" }}</button>
      </div>
      <div class="logs" ref="box" tabindex="0" role="log" aria-label="Log" @scroll.passive="scrolled">
        <div v-for="line in shown" :key="line.id" class="entry" :class="line.level"><time>{{ line.at }}</time><span class="level">{{ line.level }}</span><span>{{ line.text }}</span></div>
        <div v-if="!shown.length" class="empty"><div class="what">{{ lines.length ? "No line fits the filter" : "Nothing was logged yet" }}</div></div>
      </div>
    </div>`,
  data: () => ({ lines: [], search: "", least: "all", follow: true }),
  computed: {
    shown() {
      const wanted = this.search.toLowerCase(), levels = { all: null, warnings: ["WARN", "ERROR"], errors: ["ERROR"] }[this.least];
      return this.lines.filter((l) => (!levels || levels.includes(l.level)) && (!wanted || l.text.toLowerCase().includes(wanted)));
    },
  },
  watch: { shown() { this.settle(); }, follow() { this.settle(); } },
  methods: {
    add(lines) {
      for (const line of lines) this.lines.push(Object.freeze({ id: (this.next = (this.next || 0) + 1), ...line }));
      if (this.lines.length > MOST) this.lines.splice(0, this.lines.length - MOST);
    },
    settle() { if (this.follow) this.$nextTick(() => this.$refs.box && (this.$refs.box.scrollTop = this.$refs.box.scrollHeight)); },
    scrolled() {
      const box = this.$refs.box;
      const bottom = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
      if (bottom !== this.follow && (bottom || box.scrollTop < (this.last ?? 0))) this.follow = bottom;
      this.last = box.scrollTop;
    },
  },
};
