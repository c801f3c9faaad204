create or replace function loom._user_profile_empty() returns jsonb
language plpgsql immutable parallel safe
as $$
begin
  return '{"facts": [], "traits": {"style": null, "verbosity": null, "expertise": null, "formality": null},
    "preferences": {"format": null, "language": null, "topics": []}, "summary": ""}';
end
$$;
comment on function loom._user_profile_empty() is 'A profile that says nothing: what the first delta is merged into, and what a reset leaves.';
