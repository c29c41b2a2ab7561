import './token' // before the router
import { createApp } from 'vue'
import App from './App.vue'
import { startLive } from './live'
import { router } from './router'
import { applyScheme } from './scheme'
import './style.css'
import './figures.css'

applyScheme()
startLive()
createApp(App).use(router).mount('#app')
