// The screens that the navigation leads to, by what people come for.
export interface Screen { name: string; title: string; icon: string; ofMesh: boolean }

const of = (name: string, title: string, icon: string, ofMesh = true): Screen => ({ name, title, icon, ofMesh })

// Icons are paths in a square of 16.
export const groups: { title: string; screens: Screen[] }[] = [
  { title: 'What happens', screens: [
    of('home', 'Home', 'M2.5 7.5 8 2.75l5.5 4.75M4 6.5v6.75h8V6.5M6.75 13.25V9.5h2.5v3.75'),
    of('services', 'Services', 'M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01'),
    of('graph', 'Topology', 'M2.5 6.25h4v3.5h-4zM9.5 2.5h4V6h-4zM9.5 10h4v3.5h-4zM6.5 8h1.25V4.25H9.5M7.75 8v3.75H9.5'),
    of('requests', 'Failures', 'M8 2.25a5.75 5.75 0 1 1 0 11.5 5.75 5.75 0 0 1 0-11.5ZM6 6l4 4M10 6l-4 4'),
    of('tap', 'Tap', 'M1.75 8h2.5l2-4.5 3.25 9 2-4.5h2.75'),
    of('problems', 'Problems', 'M8 2.25 14 13H2zM8 6.5v3M8 11.25h.01', false),
    of('timeline', 'Timeline', 'M8 2.25a5.75 5.75 0 1 1 0 11.5 5.75 5.75 0 0 1 0-11.5ZM8 5v3.25l2.25 1.5'),
  ] },
  { title: 'What is wanted', screens: [
    of('routes', 'Routes', 'M3 3.5h2.5c4 0 1.5 9 5.5 9h2M11 10.5l2 2-2 2M11 1.5l2 2-2 2M8.5 3.5H13'),
    of('policies', 'Policies', 'M4 2.25h8v11.5H4zM6 5.5h4M6 8h4M6 10.5h2.5'),
    of('simulate', 'Simulate', 'M5 3v10l8-5z'),
    of('plan', 'Plan', 'M3 3.5h10M3 8h6M3 12.5h4M10.5 10.5h4M12.5 8.5v4'),
  ] },
  { title: 'Where it runs', screens: [
    of('dataplanes', 'Dataplanes', 'M8 2.25 13 5v6l-5 2.75L3 11V5zM3 5l5 2.75L13 5M8 7.75v6'),
  ] },
]
