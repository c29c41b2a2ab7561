// The state of a screen is in the query of its address: what a person chose, and nothing else.
import { computed, type WritableComputedRef } from 'vue'
import { useRoute, useRouter } from 'vue-router'

// wanted is what the query will be when all that is set at once is set.
let wanted: Record<string, unknown> | undefined

// useQuery is one parameter; setting it keeps the others. Empty text leaves it out.
export function useQuery(name: string, standard = ''): WritableComputedRef<string> {
  const route = useRoute()
  const router = useRouter()
  return computed({
    get: () => {
      const v = route.query[name]
      return (Array.isArray(v) ? v[0] : v) ?? standard
    },
    set: (v) => {
      const query = { ...(wanted ?? router.currentRoute.value.query) } as typeof route.query
      if (v === '' || v === standard) delete query[name]
      else query[name] = v
      wanted = query
      void router.replace({ query }).finally(() => { if (wanted === query) wanted = undefined })
    },
  })
}
