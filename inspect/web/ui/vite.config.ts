import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vite'

// The same sources give the same files: names come from content, and nothing from the clock
// or the machine. Nothing is inlined, so that the content security policy needs no exception.
export default defineConfig({
  base: '/gui/',
  plugins: [vue()],
  define: { __VUE_OPTIONS_API__: false, __VUE_PROD_DEVTOOLS__: false, __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: false },
  build: {
    target: 'es2022',
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'], // which know light-dark()
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    sourcemap: false,
  },
})
