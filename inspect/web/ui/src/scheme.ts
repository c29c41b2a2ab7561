// Light or dark: as the system has it, or as the user chose.
import { ref } from 'vue'

export type Scheme = 'system' | 'light' | 'dark'

const key = 'weft.scheme'
const kept = localStorage.getItem(key)

export const scheme = ref<Scheme>(kept === 'light' || kept === 'dark' ? kept : 'system')

export function applyScheme(): void {
  document.documentElement.dataset.scheme = scheme.value
}

export function setScheme(s: Scheme): void {
  scheme.value = s
  localStorage.setItem(key, s)
  applyScheme()
}
