// A field that goes to a page, a job, a view or a stream by a part of its name.
export default {
  template: `
    <div class="jump" role="search">
      <input ref="field" type="search" placeholder="Go to…" aria-label="Go to a page, job, view or stream" role="combobox" aria-controls="jump-list" :aria-expanded="String(open)" autocomplete="off"
        v-model="text" @focus="start" @blur="later" @keydown.down.prevent="move(1)" @keydown.up.prevent="move(-1)" @keydown.enter.prevent="go" @keydown.esc="$refs.field.blur()" />
      <kbd>⌃K</kbd>
      <ul v-if="open && found.length" id="jump-list" role="listbox"><li v-for="(place, n) in found" :key="place.href" role="option" :class="{ on: n === at }" :aria-selected="String(n === at)"><a :href="place.href" tabindex="-1" @mousedown.prevent @click="leave">{{ place.name }}<span class="kind">{{ place.kind }}</span></a></li></ul>
    </div>`,
  emits: ["start"],
  data: () => ({ places: [], text: "", open: false, at: 0 }),
  computed: {
    found() {
      const words = this.text.toLowerCase().split(/\s+/).filter(Boolean);
      return this.places.filter((p) => words.every((w) => (p.name + " " + p.kind).toLowerCase().includes(w))).slice(0, 12);
    },
  },
  watch: { text() { this.at = 0; } },
  methods: {
    put(places) { this.places = places; },
    start() { this.open = true; this.$emit("start"); },
    later() { setTimeout(() => (this.open = false), 100); },
    leave() { this.text = ""; this.open = false; this.$refs.field.blur(); },
    move(by) { this.at = Math.max(0, Math.min(this.found.length - 1, this.at + by)); },
    go() { this.$el.querySelector("li.on a")?.click(); },
  },
};
