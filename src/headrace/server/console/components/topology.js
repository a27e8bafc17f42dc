// A graph whose places were worked out on the server; figures on its nodes change in place.
export default {
  template: `
    <div class="topology" tabindex="0" role="img" :aria-label="label">
      <svg v-if="picture" :width="picture.width * scale" :height="picture.height * scale" :viewBox="'0 0 ' + picture.width + ' ' + picture.height">
        <g v-for="(line, n) in picture.lines" :key="'l' + n"><path class="edge" :class="line.rows" :d="line.path" /><path class="tip" :d="line.tip" /></g>
        <g v-for="box in picture.boxes" :key="box.id" :class="box.role" :data-node="box.id">
          <rect class="box" :x="box.x" :y="box.y" :width="box.width" :height="box.height" :rx="box.role === 'source' || box.role === 'output' ? 14 : 7" />
          <text v-for="(text, m) in box.texts" :key="m" :class="text.kind" :x="box.x + 12" :y="box.y + 22 + m * 17">{{ text.text }}</text>
          <template v-if="figures[box.id]">
            <line class="rule" :x1="box.x + 12" :x2="box.x + box.width - 12" :y1="box.rule" :y2="box.rule" />
            <circle :class="'health-' + figures[box.id].health" :cx="box.x + box.width - 15" :cy="box.y + 17" r="5"><title>{{ figures[box.id].title }}</title></circle>
            <text v-for="(text, m) in figures[box.id].texts" :key="'f' + m" class="figure" :class="{ faint: m > 0 }" :x="box.x + 12" :y="box.rule + 17 + m * 16">{{ text }}</text>
          </template>
        </g>
      </svg>
      <slot v-else></slot>
    </div>`,
  props: { label: String },
  data: () => ({ right: null, down: null, figures: {}, width: 0 }),
  computed: {
    picture() { return this.right && this.width && this.width / this.right.width < 0.82 ? this.down : this.right; },
    scale() { return this.picture && this.width ? Math.min(1, Math.max(0.66, (this.width - 4) / this.picture.width)) : 1; },
  },
  mounted() { this.observer = new ResizeObserver(([entry]) => (this.width = entry.contentRect.width)); this.observer.observe(this.$el); },
  beforeUnmount() { this.observer.disconnect(); },
  methods: {
    draw(right, down) { this.right = right; this.down = down; },
    put(figures) { this.figures = figures; },
  },
};
