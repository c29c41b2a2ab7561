import { createRouter, createWebHistory, type RouteRecordRaw } from 'vue-router'
import DataplaneView from './views/DataplaneView.vue'
import DataplanesView from './views/DataplanesView.vue'
import HomeView from './views/HomeView.vue'
import NotFoundView from './views/NotFoundView.vue'
import ObjectView from './views/ObjectView.vue'
import ObjectsView from './views/ObjectsView.vue'
import ProblemsView from './views/ProblemsView.vue'
import { firstMesh } from './remembered'

declare module 'vue-router' {
  interface RouteMeta {
    title?: string
    tab?: string
    routes?: boolean // of the views of policies and routes: which of them
  }
}

// The addresses of contract 9. What a screen shows is in its address, whole.
const routes: RouteRecordRaw[] = [
  { path: '/', redirect: () => `/meshes/${encodeURIComponent(firstMesh())}` },
  { path: '/meshes/:mesh', name: 'home', component: HomeView, meta: { title: 'Home', tab: 'home' } },
  { path: '/meshes/:mesh/services', name: 'services', component: () => import('./views/ServicesView.vue'), meta: { title: 'Services', tab: 'services' } },
  { path: '/meshes/:mesh/services/:name', name: 'service', component: () => import('./views/ServiceView.vue'), meta: { title: 'Service', tab: 'services' } },
  { path: '/meshes/:mesh/requests', name: 'requests', component: () => import('./views/FailuresView.vue'), meta: { title: 'Failures', tab: 'requests' } },
  { path: '/meshes/:mesh/requests/:id', name: 'request', component: () => import('./views/WhyView.vue'), meta: { title: 'Why', tab: 'requests' } },
  { path: '/meshes/:mesh/tap', name: 'tap', component: () => import('./views/TapView.vue'), meta: { title: 'Tap', tab: 'tap' } },
  { path: '/meshes/:mesh/dataplanes', name: 'dataplanes', component: DataplanesView, meta: { title: 'Dataplanes', tab: 'dataplanes' } },
  { path: '/meshes/:mesh/dataplanes/:name', name: 'dataplane', component: DataplaneView, meta: { title: 'Dataplane', tab: 'dataplanes' } },
  { path: '/meshes/:mesh/routes', name: 'routes', component: ObjectsView, meta: { title: 'Routes', tab: 'routes', routes: true } },
  { path: '/meshes/:mesh/routes/:kind/:name', name: 'route', component: ObjectView, meta: { title: 'Route', tab: 'routes', routes: true } },
  { path: '/meshes/:mesh/policies', name: 'policies', component: ObjectsView, meta: { title: 'Policies', tab: 'policies', routes: false } },
  { path: '/meshes/:mesh/policies/:kind/:name', name: 'policy', component: ObjectView, meta: { title: 'Policy', tab: 'policies', routes: false } },
  { path: '/meshes/:mesh/simulate', name: 'simulate', component: () => import('./views/SimulateView.vue'), meta: { title: 'Simulate', tab: 'simulate' } },
  { path: '/meshes/:mesh/plan', name: 'plan', component: () => import('./views/PlanView.vue'), meta: { title: 'Plan', tab: 'plan' } },
  { path: '/meshes/:mesh/graph', name: 'graph', component: () => import('./views/TopologyView.vue'), meta: { title: 'Topology', tab: 'graph' } },
  { path: '/meshes/:mesh/timeline', name: 'timeline', component: () => import('./views/TimelineView.vue'), meta: { title: 'Timeline', tab: 'timeline' } },
  { path: '/problems', name: 'problems', component: ProblemsView, meta: { title: 'Problems', tab: 'problems' } },
  { path: '/:rest(.*)*', name: 'unknown', component: NotFoundView, meta: { title: 'Not found' } },
]

export const router = createRouter({ history: createWebHistory('/gui'), routes })
