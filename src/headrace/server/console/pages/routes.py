"""Which page stands at which address."""

from headrace.server.console.layout import Page
from headrace.server.console.pages.alerts import alerts_page
from headrace.server.console.pages.catalog import catalog_page, object_page
from headrace.server.console.pages.dashboards import dashboard_page, dashboards_page
from headrace.server.console.pages.editor import editor
from headrace.server.console.pages.job import job_page
from headrace.server.console.pages.overview import overview
from headrace.server.console.pages.people import people_page
from headrace.server.console.pages.views import view_page, views_page

__all__ = ["ROUTES"]

ROUTES: dict[str, Page] = {
    "/": overview,
    "/editor": editor,
    "/jobs/{name}": job_page,
    "/views": views_page,
    "/views/{name}": view_page,
    "/catalog": catalog_page,
    "/catalog/{name}": object_page,
    "/dashboards": dashboards_page,
    "/dashboards/{name}": dashboard_page,
    "/alerts": alerts_page,
    "/people": people_page,
}
