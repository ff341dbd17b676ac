"""One self-contained HTML page: documents, their chunks, and a query's hits.

`gather` collects everything the page shows as JSON values; `write_page` puts it into the page's
files, which are beside this module.
"""

from structrag.show.view.gathering import gather
from structrag.show.view.page import render_page, write_page

__all__ = ["gather", "render_page", "write_page"]
