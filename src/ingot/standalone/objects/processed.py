"""Templates that are filled in: they are sent, come back with their values, and are never stored (G7)."""

from ingot.api import registry
from ingot.api.object import Object, name_of
from ingot.api.resources import PROCESSED_TEMPLATES
from ingot.api.status import invalid
from ingot.api.template.process import TemplateError, process
from ingot.standalone.objects import intake
from ingot.standalone.objects.call import Call

KEY = (PROCESSED_TEMPLATES.group, PROCESSED_TEMPLATES.version, PROCESSED_TEMPLATES.plural)


def fill(call: Call, obj: Object) -> Object:
    """The template with its values, in its objects too. `obj` has gone through `intake.take`.

    Raises 422 for what is no template, and for parameters that lack a value, whose field it names.
    """
    intake.place(call, obj)
    template = registry.admit(obj, None, "CREATE")
    intake.check(call, template, None)
    try:
        return process(template)
    except TemplateError as error:
        raise invalid(PROCESSED_TEMPLATES.group, PROCESSED_TEMPLATES.kind, name_of(template), error.faults) from error
