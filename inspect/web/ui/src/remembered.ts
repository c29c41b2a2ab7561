// The mesh that somebody chose last, for the next time that no address names one.
const key = 'weft.mesh'
const usual = 'default'

export const rememberedMesh = (): string => localStorage.getItem(key) ?? ''

export function rememberMesh(mesh: string): void {
  if (mesh === usual) forgetMesh()
  else localStorage.setItem(key, mesh)
}

// forgetMesh is for one that is not there any more.
export function forgetMesh(): void {
  localStorage.removeItem(key)
}

export const firstMesh = (): string => rememberedMesh() || usual
