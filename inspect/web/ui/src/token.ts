// The token of the API (contract 2): it comes in the fragment of the address, which no server
// sees, is kept for this tab alone, and is never in an address again.
import { ref } from 'vue'

const key = 'weft.token'

export const token = ref(takeToken())

// takeToken runs when this module is read, before the router reads the address.
function takeToken(): string {
  const given = new URLSearchParams(location.hash.replace(/^#/, '')).get('token')
  if (given) {
    sessionStorage.setItem(key, given)
    history.replaceState(history.state, '', location.pathname + location.search)
  }
  return sessionStorage.getItem(key) ?? ''
}

// possible says whether a token can stand in a header.
export const possible = (text: string): boolean => /^[\x21-\x7e]+$/.test(text)

export function setToken(text: string): void {
  token.value = text.trim()
  if (token.value) sessionStorage.setItem(key, token.value)
  else sessionStorage.removeItem(key)
}
